"""What was proven, in numbers and in a sentence."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, Literal


@dataclass(frozen=True)
class Verification:
    """What was proven.

    Attributes
    ----------
    geometry, standardize
        What costs are measured with: ``"points"``, and whether features were divided by their standard deviation, or a
        ``"gram"`` matrix.
    n, k, must_links, cannot_links
        The instance: points, clusters, and pairs of either kind.
    objective, cost
        Claimed cost of the clustering, and a proven upper bound on it, the exact cost rounded up; ``None`` without one.
    claimed_bound, lower_bound
        Claimed lower bound on the cost of every clustering, and what was proven, at least the claim; infinite if it was
        proven that no clustering exists.
    gap
        Proven: (cost - lower_bound) / |cost|, rounded up; infinite without a clustering.
    n_entries, n_leaves, n_infeasible
        Entries of the proof, those without a branch, and those of them that are infeasible.
    n_parts
        Parts of the points that were bounded one by one; 0 if all were bounded together.
    n_regions
        Regions that were bounded one by one, with each number of clusters; 0 if there are none.
    arithmetic
        ``"float"`` (with all rounding accounted for) or ``"ball"``.
    seconds
        Wall time of the check.
    sizes
        The limits on the sizes of clusters, in words; empty without any.
    """

    geometry: Literal["points", "gram"]
    standardize: bool
    n: int
    k: int
    must_links: int
    cannot_links: int
    objective: float | None
    cost: float | None
    claimed_bound: float
    lower_bound: float
    gap: float
    n_entries: int
    n_leaves: int
    n_infeasible: int
    arithmetic: Literal["float", "ball"]
    seconds: float
    n_parts: int = 0
    n_regions: int = 0
    sizes: str = ""

    def sentence(self) -> str:
        """Say what was proven in one sentence; numbers are rounded so that it stays true."""
        leaves = f"{self.n_leaves} {'leaf' if self.n_leaves == 1 else 'leaves'}, {self.n_infeasible} infeasible."
        leaves = f"{_count(self.n_parts, 'part')}." if self.n_parts else leaves
        leaves = f"{_count(self.n_regions, 'region')}." if self.n_regions else leaves
        task = f"of the {_count(self.n, 'point')} into {_count(self.k, 'cluster')}{self.sizes and f' {self.sizes}'}"
        kept = f"{_count(self.must_links, 'must-link')} and {_count(self.cannot_links, 'cannot-link')}"
        if self.lower_bound == -math.inf:
            found = "" if self.cost is None else f"the clustering costs {shown(self.cost, up=True)}; "
            return f"Proven: {found}nothing about other clusterings {task}{self._measure()}; {leaves}"
        if self.cost is None and math.isinf(self.lower_bound):
            return f"Proven: no clustering {task} keeps all {kept}; {leaves}"
        costs = f"costs less than {shown(self.lower_bound, up=False)}"
        constrained = self.must_links + self.cannot_links > 0
        if self.cost is None:
            which = f" that keeps all {kept}" if constrained else ""
            return f"Proven: no clustering {task}{which} {costs}{self._measure()}; {leaves}"
        return (
            f"Proven: the clustering {f'keeps all {kept} and ' if constrained else ''}costs "
            f"{shown(self.cost, up=True)}; no clustering {task}{' that keeps them' if constrained else ''} {costs} "
            f"(gap {shown(self.gap, up=True, digits=2, percent=True)} %){self._measure()}; {leaves}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, which has no infinity: ``None`` stands for it."""
        entries = asdict(self)
        return {
            key: None if isinstance(entry, float) and math.isinf(entry) else entry for key, entry in entries.items()
        }

    def _measure(self) -> str:
        if self.geometry == "gram":
            return ", where costs are those of the Gram matrix"
        if self.standardize:
            return ", where costs are those of the given numbers with every feature divided by its standard deviation"
        return ""


def shown(value: float, *, up: bool, digits: int = 7, percent: bool = False) -> str:
    """Write a number with this many digits, rounded in the direction in which it stays true."""
    if math.isinf(value):
        return "infinity"
    exact = Decimal(value).scaleb(2, Context(prec=2000)) if percent else Decimal(value)
    return f"{Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR).create_decimal(exact):g}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

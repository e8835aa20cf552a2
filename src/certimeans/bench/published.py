"""Results of others to compare with, and what the comparison says."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from certimeans.errors import InputError
from certimeans.printing import text_down, text_up

PUBLISHED_GAP = 1e-4  # the relative gap to which the paper proves its values
_COLUMNS = ("dataset", "ml", "cl", "seed", "size", "f", "gap0", "nodes", "time")


class Verdict(StrEnum):
    """How our value compares with the published one."""

    BETTER = "better"
    """Ours is lower by more than rounding explains, and the published proof leaves room for it."""
    EQUAL = "equal"
    WORSE = "worse"
    """The published value is lower, and our bound does not exclude it."""
    NOT_COMPARABLE = "not comparable"
    """One of the two cannot belong to this instance; see :func:`contradiction`."""
    NONE = ""
    """There is no published value, or we have no clustering."""


@dataclass(frozen=True)
class Published:
    """A published result: the columns of ``published.csv``.

    Attributes
    ----------
    cost
        The value, rounded to six digits.
    root_gap_percent, nodes, seconds, size
        As in the paper's appendix.
    final_gap_percent
        The gap left where the instance was not solved, else ``None``.
    """

    size: int
    cost: float
    root_gap_percent: float
    nodes: int
    seconds: float
    final_gap_percent: float | None = None

    @property
    def is_solved(self) -> bool:
        """Whether the value was published as proven optimal."""
        return self.final_gap_percent is None

    @property
    def rounding(self) -> float:
        """Half a unit of the sixth digit, and a little."""
        return 0.0 if self.cost == 0 else 0.51 * 10.0 ** (math.floor(math.log10(abs(self.cost))) - 5)

    def is_reached_by(self, cost: float) -> bool:
        """Whether a cost is at most the published one, as far as its digits tell."""
        return cost <= self.cost + self.rounding


def compare(published: Published | None, objective: float, lower_bound: float) -> Verdict:
    """Compare a clustering's cost and a proven bound with a published value."""
    if published is None or not math.isfinite(objective):
        return Verdict.NONE
    if contradiction(published, objective, lower_bound):
        return Verdict.NOT_COMPARABLE
    if not published.is_reached_by(objective):
        return Verdict.WORSE
    return Verdict.BETTER if objective < published.cost * (1 - 1e-5) - published.rounding else Verdict.EQUAL


def contradiction(published: Published, objective: float, lower_bound: float) -> str:
    """Say why a published value cannot be the optimum of the same instance; empty if it can.

    Both reasons are proofs: no clustering costs less than our lower bound, and a clustering that costs less than the
    published value by more than its proof allows was found and checked. Published values and files that do not belong
    together show themselves in this way.
    """
    if published.cost + published.rounding < lower_bound:
        return f"published {published.cost:.6g} is below the proven bound {text_down(lower_bound)}"
    if published.is_solved and objective < (published.cost - published.rounding) * (1 - PUBLISHED_GAP):
        return f"published optimum {published.cost:.6g}, but a clustering costs {text_up(objective)}"
    return ""


@cache
def read_published(path: Path) -> dict[tuple[str, int, int, int], Published]:
    """Read ``published.csv``: result by data set, must-links, cannot-links and seed; empty if there is no such file.

    Raises
    ------
    InputError
        If a column is missing or a cell is not a number.
    """
    if not path.exists():
        return {}
    found = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(f"{path}: no column {missing[0]!r}; the columns are {', '.join(_COLUMNS)}")
        for row in reader:
            try:
                key = (row["dataset"], int(row["ml"]), int(row["cl"]), int(row["seed"]))
                found[key] = Published(
                    int(row["size"]),
                    float(row["f"]),
                    float(row["gap0"]),
                    int(row["nodes"]),
                    float(row["time"]),
                    float(row["final_gap"]) if row.get("final_gap") else None,
                )
            except (TypeError, ValueError):
                raise InputError(f"{path}, line {reader.line_num}: a number is missing or malformed") from None
    return found

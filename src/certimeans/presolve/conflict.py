"""A contradiction among constraints, as data and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from certimeans.problem.constraints import LinkKind

Pair = tuple[int, int]
Link = tuple[LinkKind, int, int]

ConflictKind = Literal[
    "one cluster", "too few groups", "must-link path", "odd cycle", "clique", "subset", "size", "group size", "sizes"
]

_MAX_PAIRS_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Conflict:
    """Constraints that no clustering into ``n_clusters`` clusters satisfies together.

    Attributes
    ----------
    kind
        What sort of contradiction it is.
    links
        The contradicting pairs as (kind, i, j); along a path or cycle in that order.
    reasons
        For each link, where it came from.
    groups
        For a clique, the groups of must-linked points that are pairwise cannot-linked.
    is_minimal
        Whether dropping any one link is known to resolve this contradiction.
    remedies
        The links among these of which each one, given up alone, leaves a clustering that keeps all other constraints.
        Only pairs that the user stated, not what follows from classes or distances. ``None`` if that is not known.
    sizes
        What is wrong with the sizes asked for, in words, if that is the contradiction.
    """

    kind: ConflictKind
    n_clusters: int
    links: tuple[Link, ...]
    reasons: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...] = field(default=())
    is_minimal: bool = True
    sizes: str = ""
    remedies: tuple[Link, ...] | None = None

    @property
    def must_links(self) -> list[Pair]:
        """The must-links among the contradicting pairs."""
        return [(i, j) for kind, i, j in self.links if kind == "must-link"]

    @property
    def cannot_links(self) -> list[Pair]:
        """The cannot-links among the contradicting pairs."""
        return [(i, j) for kind, i, j in self.links if kind == "cannot-link"]

    def describe(self, name: Callable[[int], str] = str) -> str:
        """Explain the contradiction in words; ``name`` says how to write a point's number."""
        lines = [f"no clustering satisfies the constraints: {self._sentence(name)}"]
        for (kind, i, j), reason in list(zip(self.links, self.reasons, strict=True))[:_MAX_PAIRS_SHOWN]:
            origin = "" if reason == kind else f" ({reason})"
            lines.append(f"  {kind} {name(i)} {name(j)}{origin}")
        if len(self.links) > _MAX_PAIRS_SHOWN:
            lines.append(f"  ... and {len(self.links) - _MAX_PAIRS_SHOWN} more pairs")
        return "\n".join([*lines, *self._advice(name)])

    def _advice(self, name: Callable[[int], str]) -> list[str]:
        if self.remedies is None:
            return []
        if not self.remedies:
            return ["no single pair, given up, leaves a clustering"]
        pairs = [f"{kind} {name(i)} {name(j)}" for kind, i, j in self.remedies[:_MAX_PAIRS_SHOWN]]
        more = len(self.remedies) - len(pairs)
        pairs += [f"{more} more"] if more else []
        return [f"give up any one of these, and a clustering exists: {'; '.join(pairs)}"]

    def _sentence(self, name: Callable[[int], str]) -> str:  # noqa: PLR0911  # one for each kind
        clusters = f"{self.n_clusters} cluster{'s' if self.n_clusters > 1 else ''}"
        if self.sizes:
            return self._sentence_about_sizes(name)
        if self.kind == "one cluster":
            return "two points cannot link, but everything goes into 1 cluster"
        if self.kind == "too few groups":
            return f"the must-links leave fewer groups of points than the {clusters} asked for"
        if self.kind == "must-link path":
            (i, j), path = self.cannot_links[0], self._walk(name)
            return f"points {name(i)} and {name(j)} cannot link, but must-links join them: {path}"
        if self.kind == "odd cycle":
            return f"{clusters} cannot alternate around an odd cycle: {self._walk(name)}"
        if self.kind == "clique":
            members = ", ".join("=".join(name(i) for i in group) for group in self.groups)
            return (
                f"{len(self.groups)} groups of points that pairwise cannot link do not fit into {clusters}: {members}"
            )
        return (
            f"these {len(self.must_links)} must-links and {len(self.cannot_links)} cannot-links "
            f"leave no way to form {clusters}"
        )

    def _sentence_about_sizes(self, name: Callable[[int], str]) -> str:
        if self.kind != "group size":
            return self.sizes
        group = self.groups[0]
        if len(group) == 1:
            return f"point {name(group[0])} {self.sizes}"
        return f"the {len(group)} points tied together by must-links {self.sizes}"

    def _walk(self, name: Callable[[int], str]) -> str:
        """Write consecutive links as ``1 = 2 ≠ 3``, without the closing cannot-link of a must-link path."""
        links = [link for link in self.links if self.kind == "odd cycle" or link[0] == "must-link"]
        signs = [f" {'=' if kind == 'must-link' else '≠'} {name(j)}" for kind, _, j in links]
        if len(signs) > _MAX_PAIRS_SHOWN:  # its two ends say enough
            half = _MAX_PAIRS_SHOWN // 2
            signs = [*signs[:half], f" ... ({len(signs) - 2 * half} more) ...", *signs[-half:]]
        return name(links[0][1]) + "".join(signs)

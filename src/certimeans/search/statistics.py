"""What a run did: counted and measured in one place, and carried whole from the search to the result."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields, replace


@dataclass(frozen=True)
class NodeWork:
    """What the evaluation of one node did; the work of several adds up.

    Attributes
    ----------
    rounds, iterations
        Cutting-plane rounds, and solver iterations in them.
    spectral_seconds, polyhedral_seconds, separation_seconds, bound_seconds
        Where the time of these rounds went: the two projections, looking for cuts, proving bounds.
    """

    rounds: int = 0
    iterations: int = 0
    spectral_seconds: float = 0.0
    polyhedral_seconds: float = 0.0
    separation_seconds: float = 0.0
    bound_seconds: float = 0.0

    def __add__(self, other: NodeWork) -> NodeWork:
        return NodeWork(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(NodeWork)))


@dataclass(frozen=True)
class PartsStatistics:
    """How a problem was bounded by parts.

    Attributes
    ----------
    count, size
        Number of parts, and super-points in the largest of them.
    bounded
        Proofs that the bound rests on: those of parts, and of smaller parts inside where they prove more.
    shared
        Points that all parts share by weight.
    links, links_left_out
        Cannot-links between super-points, and those among them that join different parts: the bound does without them.
    """

    count: int
    size: int
    bounded: int
    shared: int
    links: int
    links_left_out: int


@dataclass(frozen=True)
class RegionsStatistics:
    """How a problem was bounded by regions.

    Attributes
    ----------
    points
        Points in each region.
    clusters
        Clusters of the best clustering in each of them.
    problems, searched
        How many problems of a region with a number of clusters were looked at, and how many of these were searched.
    """

    points: tuple[int, ...]
    clusters: tuple[int, ...]
    problems: int
    searched: int


@dataclass(frozen=True)
class RunStatistics:
    """What one run did.

    Attributes
    ----------
    nodes
        Nodes evaluated, those before a resumption included.
    abandoned
        Nodes given up because no worker survived them.
    size
        Super-points at the root.
    cuts
        Cuts at the end of the root node.
    root_lower_bound, root_seconds
        What the root node proved, in the user's units, and the time it took.
    seconds
        Wall time of the whole run.
    work
        What all nodes together did.
    peak_memory
        The most memory that this process ever used, in bytes; ``None`` where the system does not tell.
    parts
        How the problem was bounded by parts; ``None`` if it was bounded as a whole.
    regions
        How it was bounded by regions; ``None`` if there is only one.
    """

    nodes: int = 0
    abandoned: int = 0
    size: int = 0
    cuts: int = 0
    root_lower_bound: float = 0.0
    root_seconds: float = 0.0
    seconds: float = 0.0
    work: NodeWork = field(default_factory=NodeWork)
    peak_memory: int | None = None
    parts: PartsStatistics | None = None
    regions: RegionsStatistics | None = None

    @property
    def rounds(self) -> int:
        """Cutting-plane rounds over all nodes."""
        return self.work.rounds


def peak_memory() -> int | None:
    """Return the most memory that this process ever used, in bytes, or ``None`` where the system does not tell."""
    try:
        import resource  # noqa: PLC0415  # not on Windows
    except ImportError:
        return None
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


class Tally:
    """Counts while the search runs; a resumed search goes on with what was saved.

    Attributes
    ----------
    cuts
        Cuts of the node that was heard of last.
    """

    def __init__(self, before: RunStatistics | None = None) -> None:
        self._now = before or RunStatistics()
        self.cuts = self._now.cuts

    @property
    def nodes(self) -> int:
        """Nodes evaluated."""
        return self._now.nodes

    def count_node(self, work: NodeWork, *, is_new: bool) -> None:
        """Count the evaluation of a node; one that was stopped and taken up again is one node."""
        self._now = replace(self._now, nodes=self._now.nodes + is_new, work=self._now.work + work)

    def note_root(self, lower_bound: float, cuts: int, seconds: float) -> None:
        """Note what the root node proved."""
        self._now = replace(self._now, root_lower_bound=lower_bound, cuts=cuts, root_seconds=seconds)

    def count_abandoned(self) -> None:
        """Count a node that was given up."""
        self._now = replace(self._now, abandoned=self._now.abandoned + 1)

    def statistics(self) -> RunStatistics:
        """Return the counts so far."""
        return self._now

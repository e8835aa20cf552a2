"""How much work a node is worth: the settings of all stages that a worker runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from certimeans.bounds.parts.settings import PartSettings
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings
from certimeans.heuristics.upper_bound import SearchSettings
from certimeans.plugins import Plugin
from certimeans.setting_checks import check_settings


@dataclass(frozen=True)
class NodeSettings:
    """Settings of the evaluation of nodes; they travel with each task.

    Attributes
    ----------
    root_search, node_search, long_search
        Local searches before the root's relaxation, after each relaxation, and beside the root on an idle worker.
    cutting_planes
        The relaxation.
    parts
        Splitting of large problems, and the bounds of parts.
    memory_limit
        Bytes that one bound may take; ``None`` for half of the memory that is free.
    heuristics, bounders
        Further heuristics and bounders for the root, from outside the package; see docs/extending.md.
    """

    root_search: SearchSettings = field(default_factory=SearchSettings)
    node_search: SearchSettings = field(default_factory=lambda: SearchSettings(n_searches=10))
    long_search: SearchSettings = field(default_factory=lambda: SearchSettings(n_searches=1000, batch=50))
    cutting_planes: CuttingPlaneSettings = field(default_factory=CuttingPlaneSettings)
    parts: PartSettings = field(default_factory=PartSettings)
    memory_limit: float | None = None
    heuristics: tuple[Plugin, ...] = ()
    bounders: tuple[Plugin, ...] = ()

    def __post_init__(self) -> None:
        check_settings(self, positive=("memory_limit",))

"""Whether a problem is bounded by parts; apart from the search itself, which most solves never import."""

from __future__ import annotations

from typing import Literal

from certimeans.presolve.reduce import Presolved
from certimeans.search.settings import NodeSettings

PartSize = int | Literal["auto"] | None


def is_by_parts(presolved: Presolved, part_size: PartSize, settings: NodeSettings) -> bool:
    """Whether a problem is to be bounded by parts."""
    points = presolved.super_points
    if part_size is None or points.vectors is None or points.n_clusters < 2:
        return False
    return points.size > (settings.parts.largest_whole if part_size == "auto" else part_size)

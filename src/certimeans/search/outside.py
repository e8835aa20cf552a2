"""Plug-ins of a search: all are found before it begins, and labels of heuristics are brought into form.

They are trusted no more than others.
"""

from __future__ import annotations

import numpy as np

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.errors import InputError
from certimeans.plugins import Plugin, load_plugin, name_of
from certimeans.presolve.contract import SuperPoints
from certimeans.search.settings import NodeSettings


def find_plugins(settings: NodeSettings) -> None:
    """Import all plug-ins that the settings name: a mistake in a name is told at once, whether it is needed or not.

    Raises
    ------
    InputError
        If there is none of that name, or it cannot be imported.
    """
    named = {
        "heuristics": settings.heuristics,
        "bounders": settings.bounders,
        "cuts": settings.cutting_planes.separation.families,
    }
    for group, plugins in named.items():
        for plugin in plugins:
            load_plugin(plugin, group)


def start_from(heuristic: Plugin, points: SuperPoints, seed: int, deadline: Deadline) -> IntArray | None:
    """Return the labels that a heuristic gives the super-points, which a search then mends and improves.

    Raises
    ------
    InputError
        If there is no such heuristic, or what it returns are no labels.
    """
    labels = load_plugin(heuristic, "heuristics")(points, seed, deadline)
    if labels is None:
        return None
    start = np.asarray(labels)
    is_right = start.shape == (points.size,) and start.dtype.kind in "iu"
    if not is_right or start.min() < 0 or start.max() >= points.n_clusters:
        raise InputError(
            f"the heuristic {name_of(heuristic)} must return a cluster, from 0 on, for each super-point, or None"
        )
    return start.astype(np.int64)

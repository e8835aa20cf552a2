"""What parts may lose and how long they may take, and what they have lost."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace

from certimeans.bounds.parts.bounding import Effort
from certimeans.bounds.parts.settings import PartSettings
from certimeans.search.parts.cover import Cover
from certimeans.search.parts.passes import Budget
from certimeans.search.parts.tasks import Key
from certimeans.search.settings import NodeSettings

_SECONDS_AT_THE_END, _SECONDS_PER_POINT, _MOST_RESERVED = 0.5, 2e-6, 0.04
_LEAST = 0.1  # of the gap: parts aim at no less
_CLOSER = 0.25  # bounds of parts that are bounded again may come so much closer to their own clusterings
_MOST_TO_GAIN = 0.6  # of what bounds have lost can be gained by going on with them


def usual_effort(settings: NodeSettings, gap: float, *, has_clustering: bool, is_patient: bool) -> Effort:
    """Return how far to bound parts, as long as nothing is known about any of them.

    Parameters
    ----------
    gap
        To be reached by all of them together, relatively.
    has_clustering
        Whether parts follow a clustering of the whole.
    is_patient
        Whether parts go on while their bounds rise slowly.
    """
    parts, cutting_planes = settings.parts, settings.cutting_planes
    if is_patient:
        cutting_planes = replace(cutting_planes, patience=max(parts.patience, cutting_planes.patience))
    return Effort(parts.margin * gap, parts.searches, follows_clustering=has_clustering, cutting_planes=cutting_planes)


def time_reserved(n_points: int, seconds: float) -> float:
    """Return how much of the time that there is goes into putting everything away in the end."""
    return min(_SECONDS_AT_THE_END + _SECONDS_PER_POINT * n_points, _MOST_RESERVED * seconds)


def budget_for(
    todo: Sequence[Key],
    cover: Cover,
    split_loss: float,
    cost: float,
    gap: float,
    own_loss: float,
    settings: PartSettings,
) -> Budget:
    """Return what some parts may lose, for the gap to be reached with what is known about the others.

    Parameters
    ----------
    split_loss
        What different means cost.
    cost
        Of the clustering of the whole.
    own_loss
        What parts lose by clusterings of their own, relatively, unless it is known of all of them.
    """
    if not 0 < cost < math.inf:
        return Budget(gap, 0.0, own_loss, settings.relaxation_share, _LEAST * gap)
    others = set(cover.tops).difference(todo)
    theirs = math.fsum(cover.known[key].cost for key in others if key in cover.known)
    lost = split_loss + theirs - math.fsum(map(cover.value, others))
    ours = max(cost - split_loss - theirs, sys.float_info.min)
    allowed = max((settings.margin * gap * cost - lost) / ours, _LEAST * gap)
    least, floor = settings.relaxation_share, _LEAST * gap
    known = [cover.known[key] for key in todo if key in cover.known]
    if len(known) == len(todo) and all(math.isfinite(one.own_cost) for one in known):
        own_loss = math.fsum(one.cost - one.own_cost for one in known) / ours
        least, floor = _CLOSER * least, _CLOSER * floor  # they go on from where they were
    return Budget(allowed, ours, own_loss, least, floor)


def short_parts(cover: Cover, given_up: Sequence[Key] = ()) -> list[Key]:
    """Return the parts about which more can be proven than was, those first about which most can."""
    known = {key: one for key in cover.tops if (one := cover.known.get(key)) is not None and key not in given_up}
    to_gain = {key: min(one.own_cost, one.cost) - cover.value(key) for key, one in known.items() if one.is_short}
    return sorted(to_gain, key=lambda key: -to_gain[key])


def worth_another_time(cover: Cover, cost: float, gap: float) -> list[Key]:
    """Return the parts whose bounds are farthest below their own clusterings, if it is these that keep the gap open.

    Parameters
    ----------
    cost
        Of the clustering of the whole.
    gap
        To be reached.
    """
    known = {key: one.own_cost - cover.value(key) for key in cover.tops if (one := cover.known.get(key)) is not None}
    to_gain = {key: loss for key, loss in known.items() if 0 < loss < math.inf}
    missing = cost - cover.total() - gap * cost
    if missing > _MOST_TO_GAIN * math.fsum(to_gain.values()):
        return []
    usual = (math.fsum(to_gain.values()) - missing) / max(1, len(to_gain))
    return sorted((key for key, loss in to_gain.items() if loss > usual), key=lambda key: -to_gain[key])

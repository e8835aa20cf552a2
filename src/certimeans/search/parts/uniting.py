"""Larger parts, made of smaller ones: of those bounded first, and of those that lose most."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from certimeans._typing import IntArray
from certimeans.bounds.parts.problem import Part
from certimeans.bounds.parts.splitting import Split
from certimeans.bounds.parts.units import centres_of
from certimeans.presolve.reduce import Presolved
from certimeans.search.parts.cover import Cover, Known
from certimeans.search.parts.plan import union_factor
from certimeans.search.parts.sizing import Sizing
from certimeans.search.parts.tasks import Key


def parts_of_small_ones(
    split: Split, cover: Cover, n_parts: int, presolved: Presolved, labels: IntArray, most: float
) -> tuple[Split, list[list[Known]]] | None:
    """Unite small parts that are bounded already; return the new split, and what is proven about pieces of its parts.

    Parameters
    ----------
    split, cover
        The small parts.
    labels
        The clustering of the super-points that they follow.
    most
        What different means may cost, in the user's units; ``None`` is returned if they cost more.
    """
    if n_parts > split.n_parts:
        return None
    united, groups = split.united(n_parts)
    centres, _ = centres_of(presolved.super_points, labels)
    loss = math.fsum(united.loss_in(presolved, labels, centres, (p,)) for p in range(n_parts))
    if loss > most:
        return None
    pieces = [[cover.known[(q,)] for q in group if (q,) in cover.known] for group in groups]
    return replace(united, loss=loss), pieces


def unite_worst(
    cover: Cover, sizing: Sizing, part_of: Callable[[Key], Part], gap: float, seconds: float, seconds_each: float
) -> tuple[list[Key], float]:
    """Put parts together, those first that lose most; return the new ones, and what own clusterings lose there.

    Parameters
    ----------
    part_of
        Takes a part out of the problem.
    gap
        To be reached.
    seconds, seconds_each
        The time that is left, and what a part takes now.
    """
    tops = sorted(cover.tops, key=lambda key: -cover.loss(key))
    size = -(-sizing.presolved.super_points.size // len(tops))
    lost: dict[int, float] = {}

    def own_loss(factor: int) -> float:
        """Estimate how much cheaper the own clusterings of united parts are than the whole's, relatively."""
        middle = max(0, len(tops) // 2 - factor)
        together = tuple(sorted(p for key in tops[middle : middle + factor] for p in key))
        lost[factor] = sizing.splits.own_losses({together: part_of(together)})[together]
        return lost[factor]

    takes = seconds_each * len(tops) / sizing.workers.capacity
    factor = union_factor(size, sizing.largest(), gap, seconds, takes, own_loss)
    if factor == 1 and sizing.has_room_for_all():
        factor = len(tops)
    if factor == 1:
        return [], 0.0
    return cover.unite([tops[i : i + factor] for i in range(0, len(tops) - 1, factor)]), lost.get(factor, 0.0)

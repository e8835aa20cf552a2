"""Children of two clusterings: matched clusters give their centres, or labels are mixed.

Follows HG-means (Gribel and Vidal, 2019): the clusters of two parents are matched, each centre of the child comes from
either of them, and one centre is drawn anew. On dense graphs labels are mixed as well, as in graph colouring (Galinier
and Hao, 1999).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_inside, compiled_without_allocation
from certimeans.heuristics.descent import Members
from certimeans.heuristics.starts import (
    Room,
    assign,
    costs_of_centre,
    draw_centre,
    fill_empty_clusters,
    redraw_centre,
)
from certimeans.heuristics.state import Space
from certimeans.randomness import RandomState, random_below, random_unit

FRESH = -1  # instead of a parent


class Family(NamedTuple):
    """Children to be made: the slot of each, and the slots of its parents, both ``FRESH`` if it has none."""

    child: IntArray
    mother: IntArray
    father: IntArray


def make_family(
    slots: list[int], living: list[int], n_fresh: int, share_of_fresh: float, random: RandomState
) -> Family:
    """Choose parents for children.

    Parameters
    ----------
    slots
        Where the children will be.
    living
        Slots of those who may be parents, the best first. If there is but one, all children have fresh centres.
    n_fresh, share_of_fresh
        So many children, the first ones, have fresh centres, and so large a share of the others.
    """
    count = len(slots)
    child, mother, father = np.array(slots, dtype=np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    choose_parents(mother, father, np.array(living, dtype=np.int64), n_fresh, share_of_fresh, random)
    return Family(child, mother, father)


@compiled_without_allocation
def choose_parents(
    mother: IntArray, father: IntArray, living: IntArray, n_fresh: int, share_of_fresh: float, random: RandomState
) -> None:
    """Choose parents, each the better of two random ones."""
    size = len(living)
    for child in range(len(mother)):
        mother[child] = FRESH
        father[child] = FRESH
        if child >= n_fresh and size >= 2 and random_unit(random) >= share_of_fresh:
            mother[child] = living[min(random_below(random, size), random_below(random, size))]
            father[child] = living[min(random_below(random, size), random_below(random, size))]


class Drawing(NamedTuple):
    """How far the starts of a family are made: the child, and its next centre."""

    child: int
    centre: int


@compiled_without_allocation
def draw_starts(  # noqa: PLR0913  # compiled code takes its state apart
    space: Space,
    members: Members,
    room: Room,
    family: Family,
    order: IntArray,
    at: Drawing,
    keeps_links: bool,
    draws: int,
    max_centres: int,
    random: RandomState,
) -> Drawing:
    """Draw the centres of children and assign the super-points to them; pause after ``max_centres`` centres.

    ``keeps_links`` says whether the assignment keeps the cannot-links.
    """
    child, centre = at.child, at.centre
    for _ in range(max_centres):
        if child == len(family.child):
            break
        mother, father = family.mother[child], family.father[child]
        if mother == FRESH:
            draw_centre(space, room, centre, draws, random)
        else:
            if centre == 0:
                match_clusters(members.labels[mother], members.labels[father], space.weights, room)
            _inherit_centre(space, members, room, mother, father, centre, random)
        centre += 1
        if centre == space.n_clusters:
            if mother != FRESH:
                redraw_centre(space, room, random)
            labels = members.labels[family.child[child]]
            assign(space, room, order, labels, keeps_links)
            fill_empty_clusters(labels, room.members, random)
            child, centre = child + 1, 0
    return Drawing(child, centre)


@compiled_inside
def match_clusters(labels: IntArray, other: IntArray, weights: FloatArray, room: Room) -> None:
    """Pair the clusters of two clusterings: each takes the free one with the heaviest intersection."""
    common, partner, is_taken = room.common, room.partner, room.is_taken
    k = len(partner)
    for c in range(k):
        partner[c] = -1
        is_taken[c] = False
        for e in range(k):
            common[c, e] = 0.0
    for i in range(len(labels)):
        common[labels[i], other[i]] += weights[i]
    for c in range(k):
        for e in range(k):
            if not is_taken[e] and (partner[c] < 0 or common[c, e] > common[c, partner[c]]):
                partner[c] = e
        is_taken[partner[c]] = True


@compiled_inside
def _inherit_centre(
    space: Space, members: Members, room: Room, mother: int, father: int, c: int, random: RandomState
) -> None:
    """Take centre c of the mother, or the matching one of the father, and fill in its costs."""
    parent, cluster = (mother, c) if random_unit(random) < 0.5 else (father, room.partner[c])
    costs_of_centre(
        space,
        members.sums[parent, cluster],
        members.square[parent, cluster],
        members.weight[parent, cluster],
        room.costs[c],
    )


@compiled_without_allocation
def mix_labels(labels: IntArray, mother: int, father: int, child: int, room: Room) -> None:
    """Build labels cluster by cluster: in turn, each parent gives the one with most members not yet labelled.

    This passes on what centres cannot: which of many combinations keeps the cannot-links. Super-points that no
    parent's cluster brings keep the label they have.

    Parameters
    ----------
    labels
        One row per slot.
    mother, father, child
        Their slots.
    """
    count, is_labelled = room.members, room.is_labelled
    is_labelled[:] = False
    for c in range(len(count)):
        parent = mother if c % 2 == 0 else father
        count[:] = 0
        for i in range(len(is_labelled)):
            if not is_labelled[i]:
                count[labels[parent, i]] += 1
        largest = 0
        for e in range(1, len(count)):
            if count[e] > count[largest]:
                largest = e
        for i in range(len(is_labelled)):
            if not is_labelled[i] and labels[parent, i] == largest:
                is_labelled[i] = True
                labels[child, i] = c

r"""Which super-points no good clustering joins.

A cluster that holds the super-points a and b, of weights w_a, w_b and means m_a, m_b, costs at least what these two
cost, and the others at least their scatter inside super-points. So a clustering that joins a and b costs at least ::

    w_a w_b / (w_a + w_b) |m_a - m_b|^2  +  (the scatter inside all super-points).

Where that exceeds the cost of a known clustering, no better one joins them. Regions are the connected components of the
graph of all other pairs: a clustering that is better has no cluster with points of two regions.

**Rounding.** Square roots of the first term are compared, so that nothing over- or underflows. Coordinates of a single
point are the user's own, and a difference of two floats has one rounding. The mean of m > 1 points is computed relative
to one of them; with D the largest distance from that one, it is off by at most (2 m + 4) u D for shares and sum and
u \|mean\| for the last addition, where u is the unit roundoff. Somewhat more, (2 m + 16) u D + 2 u \|mean\|, is
subtracted from differences. The other operations are a few more than there are features, each with a relative error of
u, and a factor below 1 makes up for them. So all numbers here are lower bounds, and what is called far is proven to be
far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.upper_bound import search_clustering
from certimeans.presolve.contract import SuperPoints, sum_by_group
from certimeans.presolve.reduce import Presolved
from certimeans.problem.rounding import UNIT_ROUNDOFF, root_of, rounded_down, rounding_factor
from certimeans.search.background import LARGE_SIZE, in_background, result_before
from certimeans.search.checkpoint import SavedSearch
from certimeans.search.incumbent import Incumbent
from certimeans.search.settings import NodeSettings

LARGEST_SIZE = 5_000
"""Super-points: the pairs of more would take too long."""

_ROUGH = 8.0
"""A good clustering is hardly better by more than this factor than one around points far from each other."""
_ROOM = Fraction(1) + Fraction(1, 10**9)
"""Costs have to exceed the known one by this factor, so that a checker's rounding does not matter."""
_SMALLEST_ROOT = 1e-200
"""The root of what joining costs, over that of the largest numbers: below, a checker may underflow."""


class Regions(NamedTuple):
    """Sets of super-points that no better clustering joins.

    Attributes
    ----------
    region_of
        The region of each super-point, numbered by first appearance.
    least_join
        Every clustering with a cluster that has points of two regions costs at least this; proven, in the user's units.
    """

    region_of: IntArray
    least_join: float

    @property
    def n_regions(self) -> int:
        """How many there are."""
        return int(self.region_of.max()) + 1


def regions_of(
    presolved: Presolved,
    incumbent: Incumbent,
    saved: SavedSearch | None,
    seed: int,
    deadline: Deadline,
    settings: NodeSettings,
) -> Regions | None:
    """Find the regions of a problem; ``None`` if there is only one, which is decided in no time.

    A search that was saved goes on as it began: a tree of the whole, if there is one, is not given up.

    Where there may be several, a good clustering has to be known: it is searched for as the root of a search tree does
    it, and becomes the incumbent.
    """
    points = presolved.super_points
    if saved is not None and (len(saved.tree.nodes) > 1 or saved.tree.steps):
        return None
    if points.vectors is None or points.limits is not None or not 1 < points.n_clusters < points.size <= LARGEST_SIZE:
        return None
    places = Places.of(presolved)
    weight_unit = Fraction(2) ** points.scale.weight_exponent
    rough = Fraction(_rough_cost(points)) * Fraction(points.scale.factor) * Fraction(2) ** points.scale.exponent
    if places.components(root_of(rough / weight_unit / Fraction(_ROUGH)))[0].max() == 0:
        return None
    _search(presolved, incumbent, seed, deadline, settings)
    if not 0 < incumbent.cost < math.inf:
        return None
    inside = Fraction(presolved.instance.cost(points.group_of).low)
    wanted = max(Fraction(0), Fraction(incumbent.cost) * _ROOM - inside)
    region_of, least = places.components(root_of(wanted / weight_unit) * (1 + 1e-12))
    if region_of.max() == 0 or not _SMALLEST_ROOT * places.largest <= least < math.inf:
        return None
    return Regions(region_of, rounded_down(Fraction(least) ** 2 * weight_unit + inside))


def _search(presolved: Presolved, incumbent: Incumbent, seed: int, deadline: Deadline, settings: NodeSettings) -> None:
    """Search as the evaluation of a root does."""
    points = presolved.super_points

    def search() -> IntArray | None:
        return search_clustering(
            points, colouring=presolved.colouring, seed=(seed, 1), deadline=deadline, settings=settings.root_search
        )

    try:
        labels = search() if points.size < LARGE_SIZE else result_before(in_background(search), deadline)
    except TimeoutError:
        return
    if labels is not None:
        incumbent.offer(points.expand_labels(labels))


def _rough_cost(points: SuperPoints) -> float:
    """Return about what a clustering costs, without the scatter inside super-points, in working units.

    Its centres are far from each other, so that what is far from everything has a cluster of its own; links are
    ignored.
    """
    means, weights = points.means, points.weights
    nearest = np.full(points.size, np.inf)
    labels = np.zeros(points.size, dtype=np.int64)
    centre = int((weights * (means * means).sum(axis=1)).argmax())
    for label in range(points.n_clusters):
        distances = ((means - means[centre]) ** 2).sum(axis=1)
        is_nearer = distances < nearest
        labels[is_nearer], nearest[is_nearer] = label, distances[is_nearer]
        centre = int((weights * nearest).argmax())
    totals = sum_by_group(labels, weights, points.n_clusters)
    sums = sum_by_group(labels, means * weights[:, None], points.n_clusters)
    centres = sums / np.where(totals > 0, totals, 1.0)[:, None]
    return float(weights @ ((means - centres[labels]) ** 2).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Places:
    """Where super-points are, and how exactly that is known.

    Attributes
    ----------
    means, errors
        The mean of each, and by how much it may be off; in the user's units.
    roots
        Roots of their weights, in working units.
    deviations
        What each feature is divided by.
    factor
        What makes up for relative rounding errors.
    """

    means: FloatArray
    errors: FloatArray | None
    roots: FloatArray
    deviations: FloatArray | None
    factor: float

    @classmethod
    def of(cls, presolved: Presolved) -> Places:
        """Compute the means of a problem's super-points."""
        instance, points = presolved.instance, presolved.super_points
        largest = int(np.bincount(points.group_of).max())
        means, errors = instance.points, None
        if largest > 1:
            means, errors = _means(instance.points, instance.scaled.weights, points)
        lost = rounding_factor(2 * (means.shape[1] + len(points.group_of)) + 64) + 2 * instance.deviation_error
        return cls(means, errors, np.sqrt(points.weights), instance.deviations, max(0.0, 1 - lost))

    @property
    def largest(self) -> float:
        """The largest coordinate, and weight, that there are: the root of a cost."""
        sizes = np.abs(self.means).max(axis=0)
        sizes = sizes if self.deviations is None else sizes / self.deviations
        return float(sizes.max()) * float(np.sqrt((self.roots**2).sum()))

    def components(self, radius: float) -> tuple[IntArray, float]:
        """Return components of the graph that joins pairs closer than a radius, and the least distance of the others.

        Distances are roots of what joining costs. If all are near to the first one, this takes a single step.
        """
        component_of = np.empty(len(self.means), dtype=np.int64)
        left = np.arange(len(self.means))
        least, component = math.inf, 0
        while left.size:
            reached, left = [int(left[0])], left[1:]
            while reached:
                here = reached.pop()
                component_of[here] = component
                if left.size:
                    roots = self.joined(here, left)
                    is_near = roots < radius
                    reached += left[is_near].tolist()
                    least = min(least, float(roots[~is_near].min(initial=math.inf)))
                    left = left[~is_near]
            component += 1
        return component_of, least

    def joined(self, here: int, others: IntArray) -> FloatArray:
        """Return, for some others, lower bounds on the root of what a cluster with this super-point costs."""
        apart = np.abs(self.means[others] - self.means[here])
        if self.errors is not None:
            apart = np.maximum(apart - (self.errors[others] + self.errors[here]), 0.0)
        if self.deviations is not None:
            apart /= self.deviations
        top = apart.max(axis=1)
        apart /= np.where(top > 0, top, 1.0)[:, None]
        smaller = np.minimum(self.roots[others], self.roots[here])
        larger = np.maximum(self.roots[others], self.roots[here])
        harmonic = smaller / np.sqrt(1 + (smaller / larger) ** 2)
        distances: FloatArray = self.factor * (top * np.sqrt((apart * apart).sum(axis=1)) * harmonic)
        return distances


def _means(table: FloatArray, weights: FloatArray, points: SuperPoints) -> tuple[FloatArray, FloatArray]:
    """Return means of groups, and bounds on their errors; see the top."""
    group_of, size = points.group_of, points.size
    counts = np.bincount(group_of)
    anchors = table[points.first_points]
    relative = table - anchors[group_of]
    shares = weights / points.weights[group_of]
    moved = sum_by_group(group_of, relative * shares[:, None], size)
    means = anchors + moved
    farthest = np.zeros_like(means)
    np.maximum.at(farthest, group_of, np.abs(relative))
    errors = 2 * UNIT_ROUNDOFF * ((counts[:, None] + 8) * farthest + np.abs(means)) + 2.0**-1040
    return means, np.where(counts[:, None] > 1, errors, 0.0)

"""Changes of an instance that must not change its best clustering, or only in a known way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.problem.instance import Instance


class Variant(NamedTuple):
    """A changed instance and what its optimum must be.

    Attributes
    ----------
    cost_factor
        Its optimum over the original's.
    original
        For each of its points, the original point that it stands for.
    """

    name: str
    instance: Instance
    cost_factor: float
    original: IntArray


def variants(instance: Instance, seed: int) -> Iterator[Variant]:
    """Yield every kind of change, with random details."""
    random = np.random.default_rng([seed, 4711])
    n, d = instance.points.shape
    points, everyone = instance.points, np.arange(n)
    spread = float(np.ptp(points, axis=0).max()) or 1.0

    def changed(new: FloatArray, order: IntArray = everyone) -> Instance:
        place = np.argsort(order)
        return Instance.create(
            new,
            instance.n_clusters,
            must_link=place[instance.must_link],
            cannot_link=place[instance.cannot_link],
            weights=instance.weights[order],
        )

    yield Variant("translate", changed(points + random.normal(size=d) * 1e3 * spread), 1.0, everyone)
    far = np.exp2(np.round(np.log2(1e8 * spread)))
    rounded = np.round(points / spread * 1024) / 1024 * spread  # survives the translation without rounding
    if np.array_equal(rounded, points):
        yield Variant("translate far", changed(points + far), 1.0, everyone)
    for exponent in (-100, 100):
        yield Variant(f"scale by 2^{exponent}", changed(np.ldexp(points, exponent)), 4.0**exponent, everyone)
    rotation = np.linalg.qr(random.normal(size=(d, d)))[0]
    yield Variant("rotate", changed(points @ rotation), 1.0, everyone)
    yield Variant("permute features", changed(points[:, random.permutation(d)]), 1.0, everyone)
    order = random.permutation(n)
    yield Variant("permute points", changed(points[order], order), 1.0, order)
    twin = int(random.integers(n))
    doubled = instance.weights.copy()
    doubled[twin] *= 2
    copied = Instance.create(
        np.vstack([points, points[twin]]),
        instance.n_clusters,
        must_link=[*map(tuple, instance.must_link.tolist()), (twin, n)],
        cannot_link=instance.cannot_link,
        weights=np.append(instance.weights, instance.weights[twin]),
    )
    heavier = Instance.create(
        points, instance.n_clusters, must_link=instance.must_link, cannot_link=instance.cannot_link, weights=doubled
    )
    yield Variant("weight 2", heavier, np.nan, everyone)  # compared with the next one
    yield Variant("a copy with a must-link", copied, np.nan, np.append(everyone, twin))
    implied = [(i, j) for i, j in instance.must_link.tolist()]
    implied += [(a, c) for a, b in implied for b2, c in implied if b == b2 and a != c]
    more = Instance.create(
        points,
        instance.n_clusters,
        must_link=implied,
        cannot_link=instance.cannot_link,
        weights=instance.weights,
    )
    yield Variant("implied constraints", more, 1.0, everyone)

"""How a problem is split."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from certimeans.bounds.parts.bounding import Effort, bound_part, own_clustering
from certimeans.bounds.parts.matching import Template, start_from
from certimeans.bounds.parts.moments import with_second_moments
from certimeans.bounds.parts.problem import cost_of
from certimeans.bounds.parts.settings import PartSettings
from certimeans.bounds.parts.splitting import Split, loss_with_shares, make_part, rounded_shares, split_into_parts
from certimeans.bounds.parts.tuning import tune_shares
from certimeans.bounds.parts.units import centres_of, link_wishes
from certimeans.deadline import Deadline
from certimeans.presolve.reduce import Presolved, presolve
from certimeans.problem.instance import Instance


def blobs(n: int, **constraints: object) -> tuple[Presolved, np.ndarray]:
    """Draw three clusters in the plane, and say which point belongs to which."""
    random = np.random.default_rng(0)
    labels = np.arange(n) % 3
    points = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[labels] + random.normal(size=(n, 2))
    return presolve(Instance.create(points, 3, **constraints)), labels  # type: ignore[arg-type]


def part_of_points(split: Split, n: int) -> np.ndarray:
    """Return the part of each point; -1 if it is shared."""
    part = np.full(n, -1)
    part[split.points] = np.repeat(np.arange(split.n_parts), np.diff(split.start))
    return part


def test_parts_are_equal_in_size_and_have_equal_means() -> None:
    """Every point is in one part; what the means cost falls far below that of a random split."""
    presolved, labels = blobs(1200)
    split = split_into_parts(presolved, labels, 7)
    assert sorted([*split.points.tolist(), *split.shared.tolist()]) == list(range(1200))
    sizes = np.diff(split.start)
    assert sizes.max() - sizes.min() <= 1
    rough = split_into_parts(presolved, labels, 7, PartSettings(sweeps=1, partners=1, match_shapes=False))
    assert split.loss < 0.01 * rough.loss < 1.0
    points, part = presolved.instance.points, part_of_points(split, 1200)
    loss = 0.0
    for cluster in range(3):
        mean = points[labels == cluster].mean(axis=0)
        for p in range(7):
            own = points[(labels == cluster) & (part == p)]
            loss += len(own) * float(((own.mean(axis=0) - mean) ** 2).sum())
    assert split.loss == pytest.approx(loss, rel=1e-3, abs=1e-6)


def test_parts_are_equal_in_shape() -> None:
    """Covariances within clusters are matched, too: what parts lose by clusterings of their own falls to a half."""
    random = np.random.default_rng(1)
    points = random.uniform(size=(1500, 4)) * [1.0, 1.1, 1.2, 1.3]
    presolved = presolve(Instance.create(points, 2))
    labels = (points[:, 3] > 0.65).astype(np.int64)
    losses, spreads = [], []
    for match_shapes in (False, True):
        split = split_into_parts(presolved, labels, 10, PartSettings(match_shapes=match_shapes))
        parts = [make_part(presolved, split, labels, (p,)) for p in range(10)]
        losses.append(sum(own_clustering(part, Effort(0.0, 8), 0, Deadline())[1] for part in parts))
        inside = [np.cov(part.points[part.labels == 0].T) for part in parts]
        spreads.append(float(np.std(inside, axis=0).max()))
        assert split.loss < 1e-5 * cost_of(presolved.super_points, labels)
    assert losses[1] < 0.6 * losses[0]
    assert spreads[1] < 0.3 * spreads[0]


def test_shapes_along_the_main_axes_if_coordinates_are_many() -> None:
    """60 coordinates have 1,830 products; those along 13 axes are matched, and points of one place have none."""
    random = np.random.default_rng(2)
    offsets, label = random.normal(size=(200, 60)), np.arange(200) % 2
    assert with_second_moments(np.ones(200), offsets, label, 2).shape == (200, 60 + 91)
    weights = random.uniform(1.0, 2.0, size=200)
    more = with_second_moments(weights, weights[:, None] * offsets[:, :3], label, 2)[:, 3:]
    assert more.shape == (200, 6)
    for cluster in range(2):
        assert more[label == cluster].sum(axis=0) == pytest.approx(np.zeros(6), abs=1e-9)
    assert not with_second_moments(np.ones(4), np.zeros((4, 2)), np.zeros(4, dtype=np.int64), 1).any()
    tiny = np.full(200, 1e-310)  # positions are infinite: there are no products
    assert with_second_moments(tiny, offsets, label, 2) is offsets


def test_what_means_cost_counts_shared_points() -> None:
    """It is what the whole's clustering costs, less what it costs in the parts, however weights are shared."""
    presolved, labels = blobs(600)
    split = split_into_parts(presolved, labels, 3, PartSettings(share_above=1e-3))
    assert len(split.shared) > 5
    uneven = rounded_shares(np.tile([[0.7], [0.2], [0.1]], len(split.shared)), np.ones(len(split.shared)))
    whole = cost_of(presolved.super_points, labels)
    for shares in (split.shares, uneven):
        changed = replace(split, shares=shares)
        parts = [make_part(presolved, changed, labels, (p,)) for p in range(3)]
        inside = sum(cost_of(part.super_points, part.labels) for part in parts)
        assert loss_with_shares(presolved, changed, labels) == pytest.approx(whole - inside, rel=1e-6, abs=1e-7 * whole)
    assert split.loss == loss_with_shares(presolved, split, labels)


def test_united_parts_have_the_points_and_shares_of_their_parts() -> None:
    """Seven parts become three: no point is lost, and shares add up to what they were, exactly."""
    presolved, labels = blobs(1200)
    split = split_into_parts(presolved, labels, 7, PartSettings(share_above=1e-4))
    united, groups = split.united(3)
    assert len(split.shared) > 0
    assert [list(group) for group in groups] == [[0, 1], [2, 3, 4], [5, 6]]
    for p, group in enumerate(groups):
        for one, other in zip(
            united.members((p,), np.ones(1200)), split.members(tuple(group), np.ones(1200)), strict=True
        ):
            assert np.array_equal(one, other)


def test_equal_seeds_split_alike() -> None:
    """The same split again, and another one for another seed."""
    presolved, labels = blobs(300)
    first, again, other = (split_into_parts(presolved, labels, 4, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.points, again.points)
    assert not np.array_equal(first.points, other.points)


def test_a_link_binds_at_second_hand() -> None:
    """7 would gain 40 in the cluster of 14, which could leave that for the one of 20, at a cost of 20."""
    points = [[7.0], [14.0], [20.0], [0.0], [-7.0], [6.0], [20.0]]
    instance = Instance.create(points, 3, cannot_link=[(0, 1), (1, 2), (2, 3)])
    presolved = presolve(instance)
    labels = np.array([0, 1, 2, 0, 0, 1, 2])  # centres 0, 10 and 20
    centres, _ = centres_of(presolved.super_points, labels)
    wishes = link_wishes(presolved.super_points, labels, centres, np.array([[0, 1], [1, 2], [2, 3]]))
    assert wishes / wishes[0] * 40.0 == pytest.approx([40.0, 20.0, -400.0])


def test_links_that_bind_stay_inside_parts() -> None:
    """Cannot-links between points of one blob bind; those between blobs do not, and may be left out."""
    binding = [(i, i + 3) for i in range(0, 120, 6)]
    others = [(i, i + 1) for i in range(0, 299, 3)]
    presolved, labels = blobs(300, cannot_link=[*binding, *others])
    for _, j in binding:
        labels[j] = (labels[j] + 1) % 3
    split = split_into_parts(presolved, labels, 10)
    part = part_of_points(split, 300)
    assert all(part[i] == part[j] or min(part[i], part[j]) < 0 for i, j in binding)
    assert 0 < split.left_out(presolved) <= len(others)
    inside = [len(make_part(presolved, split, labels, (p,)).cannot_links) for p in range(10)]
    assert sum(inside) >= len(binding)


def test_a_heavy_super_point_is_divided_between_parts() -> None:
    """A third of all points must link: every part gets some of them, as one super-point."""
    chain = [(i, i + 3) for i in range(0, 297, 3)]
    presolved, _ = blobs(300, must_link=chain)
    labels = (np.arange(300) % 3)[presolved.super_points.first_points]
    split = split_into_parts(presolved, labels, 5)
    for p in range(5):
        part = make_part(presolved, split, labels, (p,))
        assert np.bincount(part.group_of).max() > 5
        assert part.size == len(np.unique(part.group_of))


def test_a_heavy_point_and_an_outlier_are_shared_by_weight() -> None:
    """Both are in all parts, with weights that add up to no more than their own."""
    random = np.random.default_rng(0)
    points = np.vstack([random.normal(size=(99, 1)), [[40.0]]]) + np.arange(100)[:, None] % 2 * 9
    weights = np.ones(100)
    weights[7] = 60.0
    presolved = presolve(Instance.create(points, 2, weights=weights))
    split = split_into_parts(presolved, np.arange(100) % 2, 4)
    assert {7, 99} <= set(split.shared.tolist())
    assert (split.shares.sum(axis=0) <= weights[split.shared]).all()
    assert split.shares.sum(axis=0) == pytest.approx(weights[split.shared], rel=1e-9)


@pytest.mark.parametrize("weight", [1.0, 3.7, 1e-300, 1e300, np.pi])
def test_shares_never_add_up_to_more(weight: float) -> None:
    """Exact sums of shares, equal or not, are at most the weight, and almost that."""
    for n_parts in (1, 3, 7, 1000):
        for fractions in (np.ones(n_parts), np.random.default_rng(0).random(n_parts) + 1e-3):
            shares = rounded_shares((fractions / fractions.sum())[:, None], np.array([weight]))[:, 0]
            total = sum(map(Fraction, shares.tolist()))
            assert (shares > 0).all()
            assert total <= Fraction(weight)
            assert float(total) == pytest.approx(weight, rel=1e-8)


def test_tuned_shares_make_the_own_clusterings_of_parts_dearer() -> None:
    """Outliers to which parts would like to give a cluster cost more where they are far away."""
    random = np.random.default_rng(0)
    labels = np.arange(600) % 3
    points = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[labels] + random.normal(size=(600, 2))
    points[:12] *= 5
    presolved = presolve(Instance.create(points, 3))
    split = split_into_parts(presolved, labels, 6)
    assert len(split.shared) > 0
    tuned = tune_shares(presolved, split, labels)

    def own_costs(split: Split) -> float:
        parts = [make_part(presolved, split, labels, (p,)) for p in range(split.n_parts)]
        losses = [own_clustering(part, Effort(1e-3, 4), 0, Deadline())[1] for part in parts]
        return sum(part.cost(part.labels) * (1 - loss) for part, loss in zip(parts, losses, strict=True))

    assert own_costs(tuned) > own_costs(split) + 0.5
    assert (tuned.shares.sum(axis=0) <= 1).all()
    assert (tuned.shares > 0).all()


def test_a_start_from_a_solved_part_saves_rounds() -> None:
    """The template's cuts and matrices fit another part: its first bound is close already."""
    random = np.random.default_rng(3)
    labels = np.arange(200) % 4
    points = random.normal(size=(4, 2))[labels] * 3 + random.normal(size=(200, 2))
    presolved = presolve(Instance.create(points, 4))
    split = split_into_parts(presolved, labels, 2)
    parts = [make_part(presolved, split, labels, (p,)) for p in (0, 1)]
    effort = Effort(1e-3, 4)
    first = bound_part(parts[0], effort)
    assert first.start is not None
    template = Template.of(parts[0], first.start)
    assert start_from(template, parts[1]) is not None
    cold, warm = bound_part(parts[1], effort), bound_part(parts[1], effort, template=template)
    assert warm.rounds <= cold.rounds
    assert warm.value <= warm.cost * (1 + 1e-12)

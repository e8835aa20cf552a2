"""Parts that lose much by clusterings of their own are dealt out again."""

from __future__ import annotations

import numpy as np
import pytest

from certimeans.bounds.parts.bounding import Effort, own_clustering
from certimeans.bounds.parts.problem import Part
from certimeans.bounds.parts.redealing import redeal
from certimeans.bounds.parts.splitting import Split, loss_with_shares, make_part, split_into_parts
from certimeans.deadline import Deadline
from certimeans.presolve.reduce import Presolved, presolve
from certimeans.problem.instance import Instance


def own_loss(part: Part, is_thorough: bool = True) -> float:  # called by place
    return own_clustering(part, Effort(1e-3, 4 if is_thorough else 1), 0, Deadline())[1] * part.cost(part.labels)


def overlapping(**constraints: object) -> tuple[Presolved, np.ndarray, Split]:
    """Draw three clusters that overlap, one point far outside, and split them into six parts."""
    random = np.random.default_rng(0)
    labels = np.arange(600) % 3
    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[labels] + random.normal(size=(600, 2))
    points[0] = 9.0
    for _ in range(50):
        centres = np.array([points[labels == cluster].mean(axis=0) for cluster in range(3)])
        labels = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    presolved = presolve(Instance.create(points, 3, **constraints))  # type: ignore[arg-type]
    labels = labels[presolved.super_points.first_points]
    return presolved, labels, split_into_parts(presolved, labels, 6)


def redealt_split(
    presolved: Presolved, labels: np.ndarray, split: Split, **options: object
) -> tuple[Split, np.ndarray]:
    found = redeal(presolved, labels, split, own_loss, **options)  # type: ignore[arg-type]
    assert found is not None
    return found


def losses_of(presolved: Presolved, labels: np.ndarray, split: Split) -> list[float]:
    return [own_loss(make_part(presolved, split, labels, (p,))) for p in range(split.n_parts)]


def test_parts_lose_less_and_still_match() -> None:
    """Every point stays in one part, of the same size as before; what is said about the new parts is true of them."""
    presolved, labels, split = overlapping()
    before = sum(losses_of(presolved, labels, split))
    redealt, losses = redealt_split(presolved, labels, split)
    assert losses.sum() + redealt.loss < 0.6 * (before + split.loss)
    assert losses.tolist() == losses_of(presolved, labels, redealt)
    assert redealt.loss == pytest.approx(loss_with_shares(presolved, redealt, labels))
    assert sorted(redealt.points.tolist()) == sorted(split.points.tolist())
    assert redealt.start.tolist() == split.start.tolist()
    assert len(redealt.shared) > 0
    assert (redealt.shared.tolist(), redealt.shares.tolist()) == (split.shared.tolist(), split.shares.tolist())
    for p in range(6):
        points = redealt.points[redealt.start[p] : redealt.start[p + 1]]
        assert (np.diff(points) > 0).all()
        before_it = split.points[split.start[p] : split.start[p + 1]]
        assert np.bincount(labels[points]).tolist() == np.bincount(labels[before_it]).tolist()


def test_equal_seeds_deal_alike() -> None:
    """However many threads look for clusterings."""
    presolved, labels, split = overlapping()
    first, second = (redealt_split(presolved, labels, split, seed=(1, 2), n_threads=n)[0] for n in (1, 2))
    assert first.points.tolist() == second.points.tolist()


def test_blocks_stay_together() -> None:
    """Points that must link, and those of a link that binds: 15 would rather be in the cluster of 18."""
    presolved, labels, _ = overlapping(must_link=[[3, 6], [9, 12]], cannot_link=[[15, 18]])
    group_of = presolved.super_points.group_of
    labels[group_of[15]] = (labels[group_of[18]] + 1) % 3
    split = split_into_parts(presolved, labels, 6)
    redealt, losses = redealt_split(presolved, labels, split)
    assert losses.sum() < sum(losses_of(presolved, labels, split))
    part = np.empty(600, dtype=int)
    part[redealt.points] = np.repeat(np.arange(6), np.diff(redealt.start))
    for a, b in [(3, 6), (9, 12), (15, 18)]:
        assert part[a] == part[b]


def test_parts_that_are_good_enough_stay_as_they_are() -> None:
    """Nothing is dealt out without a reason."""
    presolved, labels, split = overlapping()
    enough = sum(losses_of(presolved, labels, split))
    redealt, losses = redealt_split(presolved, labels, split, good_enough=enough)
    assert redealt.points.tolist() == split.points.tolist()
    assert losses.sum() == pytest.approx(enough)


def test_what_was_not_looked_at_is_not_said_to_lose_nothing() -> None:
    """Searches that are cut short find no clustering of a part that is better."""
    presolved, labels, split = overlapping()
    assert redeal(presolved, labels, split, lambda *_: 0.0, deadline=Deadline(0.0)) is None

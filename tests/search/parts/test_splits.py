"""Splits that are tried, dealt out again and tuned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from certimeans.bounds.parts.bounding import Effort
from certimeans.bounds.parts.settings import PartSettings
from certimeans.deadline import Deadline
from certimeans.search.parts.splits import Splits, Trial
from certimeans.search.settings import NodeSettings
from tests.bounds.parts.test_redealing import overlapping

PARTS = 6


def splits(deadline: Deadline | None = None, **parts: float) -> tuple[Splits, np.ndarray]:
    """Make what splits three clusters that overlap, with a point far outside that all parts share."""
    presolved, labels, _ = overlapping()
    settings = replace(NodeSettings(), parts=PartSettings(**parts))  # type: ignore[arg-type]
    return Splits(presolved, deadline or Deadline(), settings, 0, Effort(1e-3, 4), 0.0, lambda: False), labels


def check(trial: Trial) -> None:
    """Every point is in one part or shared by all, and what is said is said of all parts."""
    assert sorted([*trial.split.points.tolist(), *trial.split.shared.tolist()]) == list(range(600))
    assert list(trial.own_losses) == [(p,) for p in range(PARTS)]
    assert list(trial.parts) == list(trial.own_losses)
    for (p,), part in trial.parts.items():
        own = trial.split.points[trial.split.start[p] : trial.split.start[p + 1]]
        assert sorted([*own.tolist(), *trial.split.shared.tolist()]) == part.members.tolist()


def test_parts_that_lose_much_are_dealt_out_again() -> None:
    """Again and again, with other random numbers each time."""
    made, labels = splits()
    trial = made.try_split(made.split(labels, PARTS), labels)
    once = made.redealt(trial, labels)
    twice = made.redealt(once, labels)
    check(once)
    check(twice)
    assert twice.unavoidable <= once.unavoidable < 0.7 * trial.unavoidable
    assert (trial.n_deals, once.n_deals, twice.n_deals) == (0, 1, 2)


def test_without_time_a_trial_stays_as_it_is() -> None:
    """What could not be looked at is not said to lose nothing."""
    made, labels = splits()
    trial = made.try_split(made.split(labels, PARTS), labels)
    assert trial.unavoidable > 0
    assert replace(made, deadline=Deadline(1e-3)).redealt(trial, labels) is trial


def test_without_a_clustering_to_follow_nothing_is_dealt_out_again() -> None:
    """Labels from nowhere lose whatever company points are in."""
    made, labels = splits()
    trial = made.try_split(made.split(labels, PARTS), labels)
    assert replace(made, effort=replace(made.effort, follows_clustering=False)).redealt(trial, labels) is trial


def test_tuned_splits_are_dealt_out_again_with_their_own_settings() -> None:
    """They may share other points than plain ones: here none, where these share one."""
    made, labels = splits(share_above_then=np.inf)
    assert len(made.split(labels, PARTS).shared) == 1
    tuned = made.tuned(labels, PARTS)
    assert len(tuned.split.shared) == 0
    check(made.redealt(tuned, labels))

"""The long reliability checks: their oracle is right, runs can be ended and go on, and a broken checker is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.reliability import certificates, cheats
from benchmarks.reliability.outcome import Outcome
from benchmarks.reliability.records import Record, Total, append, compact, latest, missing, read
from certimeans.certificate import parts
from certimeans.certificate.state import State
from tests.oracles.brute_force import exact_cost, feasible_partitions
from tests.oracles.instances import random_instance
from tests.oracles.sizes import limited_instance
from tests.oracles.subsets import Sizes, Statement, inner_products


def test_the_optimum_by_subsets_is_that_of_all_partitions() -> None:
    """In rational numbers, with weights and links; also what labels cost, and which labels are allowed."""
    n_feasible = 0
    for seed in range(150):
        small = random_instance(seed, max_points=7, weighted=bool(seed % 2))
        stated = Statement.of(small)
        found = list(feasible_partitions(len(small.points), small.k, small.must_link, small.cannot_link))
        costs = [exact_cost(small.points, labels, small.weights) for labels in found]
        assert stated.optimum() == min(costs, default=None)
        assert costs == [stated.cost(labels) for labels in found]
        assert all(stated.allows(labels) for labels in found)
        n_feasible += bool(found)
    assert n_feasible > 50


def test_the_optimum_by_subsets_keeps_limits_on_sizes() -> None:
    """Limits, exact sizes and capacities, against the other oracle for them."""
    n_feasible = 0
    for seed in range(150):
        limited = limited_instance(seed, max_points=7)
        said = limited.sizes
        sizes = Sizes.stated(limited.amounts(), said.get("size_min"), said.get("size_max"), said.get("sizes"))
        best = limited.optimum()
        assert Statement.of(limited.base, sizes).optimum() == best
        n_feasible += best is not None
    assert n_feasible > 30


def test_standardised_products_have_variance_one() -> None:
    """The trace of the products around the mean is n for each feature that varies."""
    products = inner_products([[1.0, 5.0, 2.0], [2.0, 5.0, 4.0], [4.0, 5.0, -8.0]], standardize=True)
    total = sum(products[i][i] for i in range(3))
    assert total - sum(map(sum, products)) / 3 == 2 * 3


def record(first: int, last: int, wrong: int = 0) -> Record:
    """Make a record of a check with one try for each seed."""
    outcome = Outcome(last - first + 1, ["false"] * wrong)
    outcome.counts["seen"] = 1
    outcome.note_worst("seconds", float(last))
    return Record.of("check", range(first, last + 1), outcome, 1.0)


def test_a_run_goes_on_with_the_seeds_that_are_missing(tmp_path: Path) -> None:
    """Blocks that are recorded are not tried again; a line that was cut off counts as not written."""
    path = tmp_path / "records.jsonl"
    append(path, record(0, 9))
    append(path, record(20, 24))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"check": "check", "first": 30')
    assert missing(read(path), "check", range(40), 10) == [range(10, 20), range(25, 35), range(35, 40)]
    assert missing(read(path), "another", range(15), 10) == [range(10), range(10, 15)]


def test_what_is_tried_again_replaces_what_was_wrong() -> None:
    """The later record counts, and the earlier one is not added to it."""
    records = [record(0, 9, wrong=1), record(10, 19), record(5, 9)]
    total = Total.of(latest(records))
    assert (total.tried, total.wrong, total.counts["seen"], total.worst["seconds"]) == (15, 0, 2, 19.0)
    assert missing(records, "check", range(20), 10) == [range(5)]


def test_joining_blocks_changes_no_count(tmp_path: Path) -> None:
    """Neighbours become one record; what was wrong stays apart, so that trying it again replaces nothing else."""
    path = tmp_path / "records.jsonl"
    records = [record(0, 9), record(10, 19), record(20, 29, wrong=1), record(30, 39), record(40, 49)]
    for one in records:
        append(path, one)
    compact(path)
    assert [(one.first, one.last, len(one.wrong)) for one in read(path)] == [(0, 19, 0), (20, 29, 1), (30, 49, 0)]
    assert Total.of(latest(read(path))) == Total.of(latest(records))
    append(path, record(20, 29))
    compact(path)
    assert missing(read(path), "check", range(50), 10) == []
    assert Total.of(latest(read(path))).wrong == 0
    assert [one.wrong for one in read(path)].count(["false"]) == 1


def forged_with(monkeypatch: pytest.MonkeyPatch, seeds: range) -> Outcome:
    """Mutate the certificates of a few seeds, fewer times than in a long run."""
    monkeypatch.setattr(certificates, "MUTANTS", 60)
    return certificates.mutated_certificates(seeds)


def cheated_with(monkeypatch: pytest.MonkeyPatch, cheat: Callable[..., None]) -> Outcome:
    """Cheat in one way, with a certificate by parts that has links."""
    monkeypatch.setattr(certificates, "_NAMES", ["well-formed cheats"])
    monkeypatch.setattr(certificates, "_ODDS", np.ones(1))
    monkeypatch.setattr(cheats, "CHEATS", (cheat,))
    return forged_with(monkeypatch, range(2, 3))


def test_mutated_certificates_prove_nothing_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """One certificate of each kind; some mutants are accepted, and true, and most are refused."""
    outcome = forged_with(monkeypatch, range(10))
    assert outcome.failures == []
    verdicts = [name.rpartition(": ")[2] for name in outcome.counts.elements() if name.startswith("kind")]
    assert len(verdicts) == outcome.tried == 600
    assert verdicts.count("refused") > 300
    assert verdicts.count("accepted and true") > 30


def test_mutated_certificates_find_a_checker_that_forgets_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts with more weight than there is, and merges without a reason: refused, and found where they are not."""
    with monkeypatch.context() as patch:
        assert cheated_with(patch, cheats.parts_that_overlap).failures == []
        patch.setattr(parts, "_check_weights", lambda *_: None)
        assert cheated_with(patch, cheats.parts_that_overlap).failures
    with monkeypatch.context() as patch:
        assert cheated_with(patch, cheats.merges_without_reason).failures == []
        patch.setattr(State, "merge", lambda self, row, _: self.unite(row[0], row[1]))
        assert cheated_with(patch, cheats.merges_without_reason).failures

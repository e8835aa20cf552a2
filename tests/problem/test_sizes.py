"""Limits on the sizes of clusters, as users state them."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certimeans import CertifiedKMeans, Instance, solve
from certimeans.cli import main
from certimeans.errors import InputError
from certimeans.problem.clustering import Clustering
from certimeans.problem.constraints import Constraints
from certimeans.problem.generate import generate_constraints
from certimeans.problem.io.files import read_constraints, write_constraints

POINTS = [[float(i), float(i * i % 7)] for i in range(6)]


def test_limits_become_exact_integers() -> None:
    """Points count 1; capacities and limits count in the power of two that divides all of them."""
    counted = Instance.create(POINTS, 2, size_min=2, size_max=100).limits
    assert counted is not None
    assert (counted.least, counted.most, counted.unit) == (2, 6, Fraction(1))
    assert counted.amounts.tolist() == [1] * 6
    weighed = Instance.create(POINTS, 2, sizes=[2.25, 0.5], capacity=[0.5, 0.25, 1, 1, 0, 0]).limits
    assert weighed is not None
    assert weighed.exact == (2, 9)
    assert weighed.unit == Fraction(1, 4)


def test_sums_of_capacities_are_compared_without_rounding() -> None:
    """As doubles 0.1 + 0.2 exceeds 0.3, and 1e-300 is not lost beside 1."""
    labels = np.array([0, 0, 1, 1, 1, 1])
    tenths = Instance.create(POINTS, 2, size_max=0.3, capacity=[0.1, 0.2, 0, 0, 0, 0])
    assert "by 2.77" in Clustering.from_labels(tenths, labels).violations(tenths)[0]
    tiny = Instance.create(POINTS, 2, size_max=1.0, capacity=[1.0, 1e-300, 0, 0, 0, 1.0])
    assert not Clustering.from_labels(tiny, labels).satisfies(tiny)
    assert tiny.limits is not None
    assert not tiny.limits.fits
    assert Clustering.from_labels(tiny, np.array([0, 1, 0, 1, 1, 2]) % 2).satisfies(tiny) is False
    fits = Instance.create(POINTS, 2, size_max=1.0, capacity=[1.0, 0.0, 0, 0, 0, 1.0])
    assert Clustering.from_labels(fits, labels).satisfies(fits)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"size_min": 2.5}, "size_min is 2.5; points are counted in whole numbers"),
        ({"size_min": -1}, "size_min must be a finite number, zero or more; got -1"),
        ({"size_max": True}, "size_max must be a finite number"),
        ({"size_max": float("nan")}, "size_max must be a finite number"),
        ({"size_max": 10**400}, "size_max must be a finite number"),
        ({"size_max": "7"}, "size_max must be a finite number"),
        ({"size_max": 2**60 + 1}, "which no double is"),
        ({"size_min": 3, "size_max": 2}, "size_min is 3, above size_max, which is 2"),
        ({"sizes": [1, 2, 3]}, "sizes has 3 entries for 2 clusters"),
        ({"sizes": 3}, "sizes must be a list"),
        ({"sizes": "33"}, "sizes must be a list"),
        ({"sizes": [3, None]}, r"sizes\[1\] must be a finite number"),
        ({"sizes": [2, 4], "size_max": 3}, "sizes has 4, which is not between"),
        ({"capacity": [1] * 6}, "capacity says what size limits apply to"),
        ({"capacity": [1] * 5, "size_max": 3}, "capacity has 5 entries"),
        ({"capacity": [1, 1, -1, 1, 1, 1], "size_max": 3}, r"capacity\[2\] is -1.0"),
        ({"capacity": [1, 1, float("inf"), 1, 1, 1], "size_max": 3}, r"capacity\[2\] is inf"),
        ({"capacity": ["a"] * 6, "size_max": 3}, "capacity must be numbers"),
        ({"capacity": [[1]] * 6, "size_max": 3}, "capacity must be a list of numbers"),
        ({"capacity": [2**60 + 1] * 6, "size_max": 3}, r"capacity\[0\] is 1152921504606846977, which no double is"),
    ],
)
def test_bad_limits_are_named(stated: dict[str, Any], message: str) -> None:
    """One line that says what is wrong and where."""
    with pytest.raises(InputError, match=message):
        Instance.create(POINTS, 2, **stated)


def test_limits_are_part_of_the_fingerprint() -> None:
    """Every difference counts but the order of exact sizes; without limits it is what it was before there were any."""
    stated: list[dict[str, Any]] = [
        {},
        {"size_min": 2},
        {"size_max": 2},
        {"sizes": [2, 4]},
        {"sizes": [2, 4], "capacity": [1.0] * 6},
        {"size_max": 2, "capacity": [1.0] * 6},
    ]
    prints = [Instance.create(POINTS, 2, **one).fingerprint for one in stated]
    assert len(set(prints)) == len(prints)
    assert Instance.create(POINTS, 2, sizes=[4, 2]).fingerprint == prints[3]


def test_constraints_from_two_sources_join_their_limits() -> None:
    """The tighter limit counts; what is stated twice must agree."""
    both = Constraints.create(size_min=1, size_max=4) | Constraints.create(size_min=2)
    assert both.cluster_sizes is not None
    assert (both.cluster_sizes.size_min, both.cluster_sizes.size_max) == (2, 4)
    with pytest.raises(InputError, match="sizes are given twice"):
        Constraints.create(sizes=[1, 2]) | Constraints.create(sizes=[1, 3])
    with pytest.raises(InputError, match="capacity is given twice"):
        Constraints.create(capacity=[1, 2], size_min=0) | Constraints.create(capacity=[1, 3], size_min=0)


def test_json_files_hold_sizes(tmp_path: Path) -> None:
    """Written and read back; other formats refuse, and bad entries are named with the file."""
    stated = Constraints.create([(0, 1)], size_min=0.5, size_max=3, capacity=[0.1, 1, 2])
    path = tmp_path / "c.json"
    write_constraints(path, stated)
    back = read_constraints(path).cluster_sizes
    assert back is not None
    assert back.size_min == 0.5
    assert back.size_max == 3
    assert back.capacity is not None
    assert back.capacity.tolist() == [0.1, 1, 2]
    with pytest.raises(InputError, match="only JSON files hold sizes"):
        write_constraints(tmp_path / "c.txt", stated)
    for content, message in [
        ({"sizes": 3}, "'sizes' must be a list of numbers"),
        ({"size_min": [3]}, "'size_min' must be a number"),
        ({"sizes": [1, "a"]}, "'sizes' must be a list of numbers"),
        ({"size_max": -1}, "c.json: size_max must be a finite number"),
        ({"size_min": 3, "size_max": 1}, "c.json: size_min is 3, above"),
    ]:
        path.write_text(json.dumps(content))
        with pytest.raises(InputError, match=message):
            read_constraints(path)


def test_generated_constraints_may_state_class_sizes() -> None:
    """Every class has to be known."""
    stated = generate_constraints(["a", "b", "a", "a"], 1, 1, sizes=True).cluster_sizes
    assert stated is not None
    assert stated.sizes == (3, 1)
    with pytest.raises(InputError, match="label 1, counted from 0, is unknown"):
        generate_constraints(["a", "?", "a"], 0, 0, sizes=True)


def test_weightless_points_must_not_count() -> None:
    """They are left out of the problem; with capacity 0 they are left out of the sizes, too."""
    weights = [1, 1, 1, 1, 1, 0]
    with pytest.raises(InputError, match=r"sample_weight\[5\] is 0, but limits on sizes count that point"):
        solve(POINTS, 2, sample_weight=weights, size_max=3)
    result = solve(POINTS, 2, sample_weight=weights, size_max=3, capacity=[1, 1, 1, 1, 1, 0])
    assert result.labels is not None
    assert np.bincount(result.labels[:5]).max() <= 3


def test_the_estimator_takes_limits() -> None:
    """Limits are parameters, sizes and capacities belong to the data."""
    model = CertifiedKMeans(n_clusters=2, size_min=3).fit(POINTS)
    assert np.bincount(model.labels_).tolist() == [3, 3]
    model = CertifiedKMeans(n_clusters=2).fit(POINTS, sizes=[1, 5])
    assert sorted(np.bincount(model.labels_)) == [1, 5]
    model = CertifiedKMeans(n_clusters=2, size_max=4).fit(POINTS, capacity=[3, 1, 1, 1, 1, 1])
    assert max(model.result_.to_dict()["cluster_sizes"]) == 4


def test_the_command_line_takes_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A column of capacities is no feature; verify compares limits; infeasible sizes end with code 3 and a reason."""
    data, out = tmp_path / "points.csv", tmp_path / "out"
    rows = [f"{x},{y},{1 + i % 2}" for i, (x, y) in enumerate(POINTS)]
    data.write_text("x,y,people\n" + "\n".join(rows) + "\n")
    options = ["-k", "2", "--size-max", "5", "--size-min", "4", "--capacity", "people"]
    assert main(["solve", str(data), *options, "--out", str(out), "--json", "--quiet"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["d"], printed["size_min"], printed["size_max"]) == (2, 4, 5)
    assert sorted(printed["cluster_sizes"]) == [4, 5]
    assert main(["verify", str(out), "--gap", "1e-4", "--data", str(data), *options]) == 0
    assert main(["verify", str(out), "--data", str(data), *options[:-4], "--size-min", "3", *options[-2:]]) == 1
    assert main(["verify", str(out), "--data", str(data), "-k", "2"]) == 1
    assert main(["solve", str(data), "-k", "2", "--sizes", "3,4", "--quiet"]) == 3
    assert "the sizes add up to 7, but there are 6 points" in capsys.readouterr().err


def test_subnormal_capacities_are_not_taken_for_multiples_of_weights() -> None:
    """The product of a weight and the smallest double is rounded: every point counts the same here, heavy or light."""
    weights = np.array([1.0, 0.6, 1.4, 1.4, 0.6, 1.4])
    points = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [5.0, 1.0], [6.0, 0.0], [9.0, 0.0]]
    result = solve(points, 2, sample_weight=weights, capacity=weights * 5e-324, sizes=[1e-323, 2e-323])
    assert result.objective == pytest.approx(21.3527, rel=1e-5)
    assert result.lower_bound <= result.objective

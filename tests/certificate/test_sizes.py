"""Limits on sizes in certificates: proven, and what is falsified is refused."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certimeans import SolverSettings, solve
from certimeans.bounds.relaxation.blocks import bounder
from certimeans.certificate import sizes as sizes_module
from certimeans.certificate.blocks import BlockTerms
from certimeans.certificate.check import verify
from certimeans.certificate.sizes import Limits, Stated
from certimeans.errors import CertificateError, CertimeansError
from tests.oracles.certificates import fingerprint
from tests.oracles.sizes import limited_instance

KINDS: dict[str, dict[str, Any]] = {
    "sizes": {"sizes": [8, 10, 12]},
    "twice": {"sizes": [8, 11, 11]},
    "limits": {"size_min": 9, "size_max": 11},
    "capacity": {"size_min": 46, "size_max": 48, "capacity": [float(1 + i % 9) for i in range(30)]},
    "upper": {"size_max": 48, "capacity": [float(1 + i % 9) for i in range(30)]},
}


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Solve points that need a tree, with links, under limits of every kind."""
    folders = {}
    for kind, stated in KINDS.items():
        points = np.random.default_rng(3).random((30, 3))
        result = solve(points, 3, must_link=[(0, 1), (2, 3)], cannot_link=[(0, 4), (4, 5), (6, 7)], **stated)
        assert result.status == "optimal"
        folders[kind] = tmp_path_factory.mktemp(kind)
        result.save(folders[kind], report=False)
        assert verify(folders[kind], gap=1e-4, arithmetic="ball").lower_bound >= result.lower_bound
        assert verify(folders[kind], gap=1e-4, n_jobs=2).lower_bound >= result.lower_bound
    random = np.random.default_rng(1)
    points = random.normal(size=(30, 2)) + 2.5 * np.repeat([[0, 0], [1, 0], [0, 1]], 10, axis=0)
    folders["branches"] = tmp_path_factory.mktemp("branches")
    settings = replace(SolverSettings(), memory_limit=150_000.0)  # too little for blocks, enough for one matrix
    result = solve(points, 3, sizes=[6, 9, 15], settings=settings)
    assert result.nodes > 1
    result.save(folders["branches"], report=False)
    assert verify(folders["branches"], gap=1e-4, arithmetic="ball").lower_bound >= result.lower_bound
    assert verify(folders["branches"], gap=1e-4, n_jobs=2).lower_bound >= result.lower_bound
    return folders


def test_cuts_with_the_point_0_are_proven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Used from the first round on, by blocks of one and of two clusters; in floats and in balls."""
    monkeypatch.setattr(bounder, "_ROUNDS_WITHOUT_POINT_0", 0)
    points = np.random.default_rng(3).random((30, 3))
    result = solve(points, 4, sizes=[5, 5, 7, 13], gap=1e-3)
    assert result.status == "optimal"
    result.save(tmp_path, report=False)
    for arithmetic in ("float", "ball"):
        assert verify(tmp_path, gap=1e-3, arithmetic=arithmetic).lower_bound >= result.lower_bound
    used = 0
    with np.load(tmp_path / "certificate.npz") as arrays:
        for name in (name for name in arrays if name.endswith("cut_member")):
            used += int((arrays[name] == arrays[name.replace("cut_member", "groups")].max() + 1).sum())
    assert used > 0


Forge = Callable[[dict[str, Any], dict[str, Any]], None]


def _limit(name: str, value: Any) -> Forge:
    def forge(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        content["cluster_sizes"][name] = value
        content["fingerprint"] = fingerprint(content, arrays)

    return forge


def _wider(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["cluster_sizes"].update(size_min=1.0, size_max=200.0)
    content["fingerprint"] = fingerprint(content, arrays)


def _drop(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["cluster_sizes"] = None
    arrays.pop("capacity", None)
    content["fingerprint"] = fingerprint(content, arrays)


def _capacity(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["capacity"][3] += 1
    content["fingerprint"] = fingerprint(content, arrays)


def _multipliers(change: Callable[[Any], Any]) -> Forge:
    def forge(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        for name in [name for name in arrays if name.endswith("size_multiplier")]:
            arrays[name] = change(arrays[name])

    return forge


def _slack(content: dict[str, Any], arrays: dict[str, Any]) -> None:  # noqa: ARG001
    """Lower V here and there on the diagonal: G, and with it the eigenvalues, rise; all alike would change nothing."""
    for name in [name for name in arrays if name.endswith("_slack")]:
        size = int(arrays[name.replace("slack", "groups")].max()) + 1
        on_diagonal = np.equal(*np.triu_indices(size))
        arrays[name][..., on_diagonal] -= (0.3 * (np.arange(size) % 3)).astype(np.float32)


def _blocks(array: str, change: Callable[[Any], Any]) -> Forge:
    """Falsify an array of every relaxation with blocks."""

    def forge(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        places = [
            (e, s) for e, entry in enumerate(content["proof"]) for s, step in enumerate(entry) if _has_blocks(step)
        ]
        assert places
        for e, s in places:
            arrays[f"e{e}s{s}_{array}"] = change(arrays[f"e{e}s{s}_{array}"])

    return forge


def _has_blocks(step: dict[str, Any]) -> bool:
    return bool(step["kind"] == "size_blocks")


def _link(g: int, i: int, j: int, times: int = 1) -> Forge:
    """Add a link with a large multiplier to every relaxation with blocks, so that it alone decides."""

    def forge(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        for name in [name for name in arrays if re.fullmatch(r"e\d+s\d+_link", name)]:
            arrays[name] = np.vstack([arrays[name], np.array([[g, i, j]] * times, dtype="<i4")])
            multipliers = arrays[f"{name}_multiplier"]
            arrays[f"{name}_multiplier"] = np.concatenate([multipliers, np.full(times, 3.0)])
        assert any(_has_blocks(step) for entry in content["proof"] for step in entry)

    return forge


def _cut_of_point_0(*others: int, coefficient: int, beyond: int = 0) -> Forge:
    """Add to the first block of every relaxation a cut of some super-points, each 1, and the point 0."""

    def forge(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        starts = [name for name in arrays if name.endswith("_block_start")]
        for prefix in (name.removesuffix("block_start") for name in starts):
            size = int(arrays[f"{prefix}groups"].max()) + 1
            members, coefficients = [*others, size + beyond], [1] * len(others) + [coefficient]
            for name, first in (("cut_member", members), ("cut_coefficient", coefficients), ("cut_multiplier", [3.0])):
                kind = arrays[prefix + name].dtype
                arrays[prefix + name] = np.concatenate([np.array(first, dtype=kind), arrays[prefix + name]])
            arrays[f"{prefix}cut_start"] = np.concatenate([[0], arrays[f"{prefix}cut_start"] + len(members)])
            arrays[f"{prefix}block_start"][1:] += 1
        assert starts
        assert any(_has_blocks(step) for entry in content["proof"] for step in entry)

    return forge


def _unit(content: dict[str, Any], arrays: dict[str, Any]) -> None:  # noqa: ARG001
    for step in (step for entry in content["proof"] for step in entry if _has_blocks(step)):
        step["unit"] *= -1


def _labels(content: dict[str, Any], arrays: dict[str, Any]) -> None:  # noqa: ARG001
    """Move a point that no link mentions from the first cluster to another."""
    free = [i for i in range(8, 30) if arrays["labels"][i] == 0]
    arrays["labels"][free[0]] = 1


def _identical(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Unite identical points, of which there are none, at the root; its other steps move up."""
    count = len(content["proof"][0])
    content["proof"][0].insert(0, {"kind": "identical"})
    for s in reversed(range(count)):
        for name in [name for name in arrays if name.startswith(f"e0s{s}_")]:
            arrays[f"e0s{s + 1}_{name.split('_', 1)[1]}"] = arrays.pop(name)


def _branch(change: Callable[[dict[str, Any]], None]) -> Forge:
    """Falsify every branch on sizes."""

    def forge(content: dict[str, Any], arrays: dict[str, Any]) -> None:  # noqa: ARG001
        branches = [step for entry in content["proof"] for step in entry if step["kind"] == "branch_sizes"]
        assert branches
        for step in branches:
            change(step)

    return forge


def _anchors(change: Callable[[list[int], int], Any]) -> Forge:
    """Falsify the anchors of every relaxation that has some."""

    def forge(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        found = 0
        for e, entry in enumerate(content["proof"]):
            for s, step in enumerate(entry):
                if "anchors" in step:
                    found += 1
                    step["anchors"] = change(step["anchors"], int(arrays[f"e{e}s{s}_groups"].max()) + 1)
        assert found

    return forge


def _anchor_at_the_root(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Claim that a point's size is decided where nothing was."""
    s = next(s for s, step in enumerate(content["proof"][0]) if step["kind"] == "relaxation")
    content["proof"][0][s]["anchors"] = [0]
    size = int(arrays[f"e0s{s}_groups"].max()) + 1
    arrays[f"e0s{s}_size_multiplier"] = np.zeros((size, 2))


def _limits_for_sizes(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["cluster_sizes"].update(sizes=None, size_min=6, size_max=15)
    content["fingerprint"] = fingerprint(content, arrays)


def _dropped_entry(content: dict[str, Any], arrays: dict[str, Any]) -> None:  # noqa: ARG001
    """Leave out the weakest of the entries of the first branch: no entry may be without a branch either."""
    branch = next(step for step in content["proof"][0] if step["kind"] == "branch_sizes")
    branch["entries"] = branch["entries"][:-1]


TAMPERINGS: list[tuple[str, str, Forge]] = [
    ("sizes", "other sizes", _limit("sizes", [9, 10, 11])),
    ("sizes", "unsorted sizes", _limit("sizes", [12, 10, 8])),
    ("sizes", "a size too many", _limit("sizes", [8, 10, 12, 0])),
    ("sizes", "sizes of another sum", _limit("sizes", [8, 10, 13])),
    ("sizes", "a size that is null", _limit("sizes", [8, 10, None])),
    ("sizes", "a half", _limit("sizes", [7.5, 10, 12.5])),
    ("sizes", "limits that the sizes break", _limit("size_max", 11)),
    ("sizes", "no limits", _drop),
    ("sizes", "lower slack", _slack),
    ("sizes", "labels", _labels),
    ("sizes", "identical points", _identical),
    ("sizes", "a key too many", lambda content, _: content["cluster_sizes"].update(more=1)),
    ("sizes", "text", lambda content, _: content["cluster_sizes"].update(size_min="8")),
    ("sizes", "other equations", _blocks("row_multiplier", lambda array: array + np.linspace(-1, 1, array.shape[1]))),
    ("sizes", "equations of another shape", _blocks("row_multiplier", lambda array: array[:, :-1])),
    ("sizes", "a block too few", _blocks("slack", lambda array: array[:-1])),
    ("sizes", "larger multipliers of cuts", _blocks("cut_multiplier", lambda array: 3 * array + 1)),
    ("sizes", "negative multipliers of cuts", _blocks("cut_multiplier", lambda array: -array - 1)),
    ("sizes", "cuts of other blocks", _blocks("block_start", lambda array: array * np.array([1, 0, 0, 1]))),
    ("sizes", "blocks that shrink", _blocks("block_start", lambda array: array[::-1])),
    ("sizes", "negative multipliers of links", _blocks("link_multiplier", lambda array: -array - 1)),
    ("sizes", "a link too many", _link(0, 2, 5)),
    ("sizes", "a link twice", _link(0, 2, 5, times=2)),
    ("sizes", "a link of a point with itself", _link(0, 2, 2)),
    ("sizes", "a link of a block that is none", _link(3, 2, 5)),
    ("sizes", "a cut whose right side counts", _cut_of_point_0(coefficient=-2)),
    ("sizes", "a cut whose diagonal counts", _cut_of_point_0(4, coefficient=1)),
    ("sizes", "a point beyond the point 0", _cut_of_point_0(4, coefficient=1, beyond=1)),
    ("twice", "a cut whose right side counts", _cut_of_point_0(coefficient=-2)),
    ("sizes", "a negative unit", _unit),
    ("twice", "a link of a size that two clusters have", _link(1, 2, 5)),
    ("twice", "sizes that differ", _limit("sizes", [8, 10, 12])),
    ("twice", "lower slack", _slack),
    ("limits", "a wider limit", _limit("size_max", 20)),
    ("limits", "a narrower limit", _limit("size_min", 10)),
    ("limits", "a negative limit", _limit("size_min", -1)),
    ("limits", "nothing limited", lambda content, _: content["cluster_sizes"].update(size_min=None, size_max=None)),
    ("limits", "no limits", _drop),
    ("limits", "lower slack", _slack),
    ("capacity", "another capacity", _capacity),
    ("capacity", "a negative capacity", lambda _, arrays: arrays["capacity"].__setitem__(0, -1.0)),
    ("capacity", "wider limits", _wider),
    ("capacity", "no limits", _drop),
    ("capacity", "negative multipliers", _multipliers(lambda array: -array - 1)),
    ("capacity", "larger multipliers", _multipliers(lambda array: array + 10)),
    ("capacity", "multipliers of another shape", _multipliers(lambda array: array[:-1])),
    ("branches", "an entry left out", _dropped_entry),
    ("branches", "one entry for two sizes", _branch(lambda step: step["entries"].__setitem__(0, step["entries"][1]))),
    ("branches", "entries in another order", _branch(lambda step: step["entries"].reverse())),
    ("branches", "entries that rotate", _branch(lambda step: step["entries"].append(step["entries"].pop(0)))),
    ("branches", "an entry before the branch", _branch(lambda step: step["entries"].__setitem__(0, 0))),
    ("branches", "no list of entries", _branch(lambda step: step.update(entries=None))),
    ("branches", "another point", _branch(lambda step: step.update(point=(step["point"] + 7) % 30))),
    ("branches", "no point", _branch(lambda step: step.update(point=30))),
    ("branches", "text for a point", _branch(lambda step: step.update(point="1"))),
    ("branches", "an ordinary branch", _branch(lambda step: step.update(kind="branch"))),
    ("branches", "other anchors", _anchors(lambda anchors, size: [(a + 1) % size for a in anchors])),
    ("branches", "an anchor too many", _anchors(lambda anchors, size: [*anchors, (anchors[0] + 1) % size])),
    ("branches", "an anchor twice", _anchors(lambda anchors, _: anchors * 2)),
    ("branches", "anchors that are none", _anchors(lambda _, size: [size])),
    ("branches", "anchors in words", _anchors(lambda _, __: "1")),
    ("branches", "no anchors", _anchors(lambda _, __: [])),
    ("branches", "an anchor at the root", _anchor_at_the_root),
    ("branches", "negative multipliers", _multipliers(lambda array: -array - 1)),
    ("branches", "larger multipliers", _multipliers(lambda array: array + np.array([10.0, 0.0]))),
    ("branches", "larger multipliers of the others", _multipliers(lambda array: array + np.array([0.0, 10.0]))),
    ("branches", "multipliers of another shape", _multipliers(lambda array: array[:-1])),
    ("branches", "other sizes", _limit("sizes", [7, 9, 14])),
    ("branches", "a size of 0", _limit("sizes", [0, 0, 30])),
    ("branches", "sizes that occur twice", _limit("sizes", [6, 12, 12])),
    ("branches", "limits for sizes", _limits_for_sizes),
    ("branches", "lower slack", _slack),
    ("upper", "multipliers of a lower limit", _multipliers(lambda array: array + np.array([5.0, 50.0]))),
    ("upper", "lower slack", _slack),
]


@pytest.mark.parametrize(
    ("kind", "forge"),
    [(kind, forge) for kind, _, forge in TAMPERINGS],
    ids=[f"{kind}: {name}" for kind, name, _ in TAMPERINGS],
)
def test_tampering_is_rejected(kind: str, forge: Forge, genuine: dict[str, Path], tmp_path: Path) -> None:
    """Every falsification fails, without the original data."""
    content = json.loads((genuine[kind] / "certificate.json").read_text())
    with np.load(genuine[kind] / "certificate.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    forge(content, arrays)
    (tmp_path / "certificate.json").write_text(json.dumps(content))
    np.savez(tmp_path / "certificate.npz", **arrays)
    with pytest.raises(CertimeansError):
        verify(tmp_path)


def test_the_checkers_search_agrees_with_enumeration() -> None:
    """Its own code, with links and without; it also knows what does not follow the weights."""
    verdicts = []
    for seed in range(150):
        stated = limited_instance(seed, max_points=7)
        base, sizes = stated.base, dict(stated.sizes)
        capacity = None if "capacity" not in sizes else np.array(sizes["capacity"])
        exact = None if "sizes" not in sizes else sorted(map(float, sizes["sizes"]))
        limits = Limits(Stated(sizes.get("size_min"), sizes.get("size_max"), exact, capacity), len(base.points), base.k)
        free = stated._replace(base=base._replace(must_link=[]))
        links: list[set[int]] = [set() for _ in base.points]
        for i, j in base.cannot_link:
            links[i].add(j)
            links[j].add(i)
        verdicts.append(limits.can_be_kept(limits.amounts, links))
        assert verdicts[-1] == bool(free.partitions()), seed
    assert 20 < sum(verdicts) < 130


def test_what_takes_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undecided is not infeasible."""
    monkeypatch.setattr(sizes_module, "_MOST_STEPS", 50)
    limits = Limits(Stated(None, None, [30.0, 30.0], None), 60, 2)
    with pytest.raises(CertificateError, match="too long"):
        limits.can_be_kept(limits.amounts, [set() for _ in range(60)])


def test_shares_below_all_normal_numbers_prove_nothing() -> None:
    """A share of 2^-1100 is 0 as a double, but its square root is not: leaving it out would overstate <V, Y>."""
    for exponent, is_proven in ((1000, True), (1100, False)):
        heavy = 2**exponent
        terms = BlockTerms([1, heavy], [heavy + 1], [1], np.zeros((1, 2, 2), dtype=np.bool_))
        least = terms.least_of_slack(-np.ones((1, 2, 2)))
        true = -1 - 2 * Fraction(1, 2 ** (exponent // 2))  # rounded up by less than 2^-900
        assert least < true + Fraction(1, 2**900)
        assert (least > -2) == is_proven

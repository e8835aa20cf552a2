"""The step ``parts`` of a certificate: what it proves, and what the checker refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certimeans import solve
from certimeans.certificate.check import verify
from certimeans.errors import CertificateError, InputError, MalformedCertificateError

Arrays = dict[str, Any]
Content = dict[str, Any]


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a certificate of four parts, with must-links, cannot-links inside and between parts, and shared points."""
    random = np.random.default_rng(4)
    labels = np.arange(48) % 3
    points = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[labels] + random.normal(size=(48, 2))
    points[47] = [30.0, 30.0]
    cannot_link = [(i, i + 3) for i in range(0, 24, 6)] + [(i, i + 1) for i in range(0, 45, 3)]
    result = solve(points, 3, must_link=[(30, 33), (31, 34)], cannot_link=cannot_link, part_size=12)
    folder = tmp_path_factory.mktemp("genuine")
    result.save(folder, report=False)
    assert result.parts == 4
    return folder


@pytest.fixture
def forged(genuine: Path, tmp_path: Path) -> Path:
    """Make a copy to be falsified."""
    return Path(shutil.copytree(genuine, tmp_path / "forged"))


def part_file(folder: Path, number: int) -> Path:
    """Return the file of a part."""
    return folder / "certificate.parts" / f"e0s0p{number}.npz"


def change_part(folder: Path, number: int, change: Callable[[Arrays], None]) -> None:
    """Change the arrays of a part."""
    with np.load(part_file(folder, number)) as archive:
        arrays = dict(archive)
    change(arrays)
    np.savez(part_file(folder, number), **arrays)


def change_content(folder: Path, change: Callable[[Content], None]) -> None:
    """Change what ``certificate.json`` says."""
    path = folder / "certificate.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    (folder / "result.json").unlink(missing_ok=True)


def members(folder: Path, number: int) -> list[int]:
    """Return the points of a part."""
    with np.load(part_file(folder, number)) as archive:
        return [int(i) for i in archive["members"]]


def test_the_genuine_certificate_is_verified(genuine: Path) -> None:
    """Alone and in two processes, in floats and in balls."""
    verification = verify(genuine)
    assert verification.n_parts == 4
    assert "4 parts" in verification.sentence()
    assert verification.lower_bound >= verification.claimed_bound > 0
    assert verify(genuine, n_jobs=2).lower_bound == verification.lower_bound
    assert verify(genuine, arithmetic="ball").lower_bound == pytest.approx(verification.lower_bound, rel=1e-6)
    with np.load(part_file(genuine, 0)) as archive:
        assert "shares" in archive.files


def test_standardised_features_count_as_in_the_whole(tmp_path: Path) -> None:
    """The variances are those of all points, not of the part's; exponents of single columns differ between parts."""
    random = np.random.default_rng(0)
    points = random.normal(size=(40, 3)) * [1.0, 1e-3, 7.0] + np.arange(40)[:, None] % 2 * [4, 0, 20]
    points[:20, 1] = 0.0
    weights = random.integers(1, 4, size=40) / 3
    result = solve(points, 2, standardize=True, sample_weight=weights, part_size=14)
    result.save(tmp_path, report=False)
    assert result.parts == 3
    verification = verify(tmp_path)
    assert verification.lower_bound >= result.lower_bound > 0.3 * result.objective


def test_a_part_may_be_left_out_and_then_proves_nothing(forged: Path) -> None:
    """What is left of the weights costs at least 0: the smaller claim is proven, the old one is not."""
    last = part_file(forged, 3)

    def drop(content: Content) -> None:
        content["proof"][0][0]["parts"].pop()

    change_content(forged, drop)
    last.unlink()
    with pytest.raises(CertificateError, match="proves only"):
        verify(forged)
    change_content(forged, lambda content: content.update(lower_bound=1.0))
    assert verify(forged).n_parts == 3


def test_a_point_in_two_parts_is_refused(forged: Path) -> None:
    """One more point in the place of another that weighs as much; neither has links, and the order stays."""
    both = members(forged, 0), members(forged, 1)
    number, old, extra = next(
        (number, old, new)
        for number, (own, others) in enumerate((both, both[::-1]))
        for old in own
        for new in others
        if old % 3 == new % 3 == 2 and new not in own and not any(min(old, new) < i < max(old, new) for i in own)
    )
    own = both[number]

    def replace(arrays: Arrays) -> None:
        arrays["members"][own.index(old)] = extra

    change_part(forged, number, replace)
    with pytest.raises(CertificateError, match=f"point {extra} has more weight|proves only"):
        verify(forged)


def test_a_part_that_is_counted_twice_is_refused(forged: Path) -> None:
    """Every point of it has twice its weight then."""

    def twice(content: Content) -> None:
        content["proof"][0][0]["parts"][1] = content["proof"][0][0]["parts"][0]

    change_content(forged, twice)
    shutil.copyfile(part_file(forged, 0), part_file(forged, 1))
    with pytest.raises(CertificateError, match="has more weight in the parts than it has"):
        verify(forged)


def test_shares_that_add_up_to_more_are_refused(forged: Path) -> None:
    """By little, and by much: what solvers leave for rounding is less."""
    for more in (1 + 1e-10, 4.0):

        def enlarge(arrays: Arrays, more: float = more) -> None:
            arrays["shares"][arrays["members"] == 47] *= more

        change_part(forged, 2, enlarge)
        with pytest.raises(CertificateError, match="point 47 has more weight"):
            verify(forged)


def test_a_point_less_proves_less(forged: Path) -> None:
    """A point that is in no part takes its cost with it; its super-point is then missing in the part."""
    change_part(forged, 0, lambda arrays: arrays.update({name: arrays[name][1:] for name in ("members", "shares")}))
    with pytest.raises((CertificateError, InputError)):
        verify(forged)


def test_a_constraint_from_outside_is_refused(forged: Path) -> None:
    """A negative slack is for super-points that cannot link, and only cannot-links of the problem count."""

    def lower(arrays: Arrays) -> None:
        arrays["e0s0_slack"][arrays["e0s0_slack"] == 0] = -1.0

    change_part(forged, 0, lower)
    with pytest.raises(CertificateError, match="which may link, is negative"):
        verify(forged)


def test_super_points_that_nothing_holds_together_are_refused(forged: Path) -> None:
    """Fewer super-points have a larger bound."""

    def merge(arrays: Arrays) -> None:
        groups = arrays["e0s0_groups"]
        arrays["e0s0_groups"] = np.unique(np.where(groups == groups.max(), 0, groups), return_inverse=True)[1]

    change_part(forged, 0, merge)
    with pytest.raises((CertificateError, InputError)):
        verify(forged)


def test_a_part_with_fewer_super_points_than_clusters_must_not_claim_anything(tmp_path: Path) -> None:
    """Two points for three clusters: as a problem of its own it is infeasible, and would prove infinity."""
    points = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [23.0], [24.0]])
    result = solve(points, 3, part_size=5)
    result.save(tmp_path, report=False)
    for steps in ([{"kind": "infeasible"}], [{"kind": "covariance"}]):

        def claim(content: Content, steps: object = steps) -> None:
            content["proof"][0] = [{"kind": "parts", "parts": [[steps]]}]

        (tmp_path / "certificate.parts").mkdir(exist_ok=True)
        np.savez(part_file(tmp_path, 0), members=np.array([5, 6]))
        change_content(tmp_path, claim)
        with pytest.raises(MalformedCertificateError, match="fewer super-points than clusters"):
            verify(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.update(members=a["members"][::-1].copy()),
        lambda a: a.update(members=a["members"] + 1000),
        lambda a: a.update(members=a["members"] - 1000),
        lambda a: a.update(members=a["members"].astype(np.int32)),
        lambda a: a.update(members=np.empty(0, dtype=np.int64)),
        lambda a: a.update(shares=-a["shares"]),
        lambda a: a.update(shares=a["shares"][1:]),
        lambda a: a.update(shares=a["shares"] * np.nan),
        lambda a: a.update(more=a["shares"]),
        lambda a: a.pop("members"),
        lambda a: a.pop("e0s0_slack"),
    ],
)
def test_files_that_are_not_of_a_part_are_refused(forged: Path, change: Callable[[Arrays], None]) -> None:
    """Wrong order, range, type, length, sign; an array too many or too few."""
    change_part(forged, 1, change)
    with pytest.raises((CertificateError, InputError), match="part 1"):
        verify(forged)


@pytest.mark.parametrize(
    "parts", [None, [], {}, 3, "x", [3], [[]], [[3]], [[[{"kind": "parts", "parts": [[[]]]}]]], [[[{"kind": "?"}]]]]
)
def test_lists_of_parts_that_are_none_are_refused(forged: Path, parts: object) -> None:
    """Whatever JSON can hold."""
    change_content(forged, lambda content: content["proof"][0][0].update(parts=parts))
    with pytest.raises(MalformedCertificateError):
        verify(forged)


def test_a_missing_or_damaged_file_is_named(forged: Path) -> None:
    """Also in another process."""
    part_file(forged, 2).write_bytes(b"nonsense")
    for n_jobs in (1, 2):
        with pytest.raises(InputError, match="part 2"):
            verify(forged, n_jobs=n_jobs)
    part_file(forged, 2).unlink()
    with pytest.raises(InputError, match=r"part 2.*no such file"):
        verify(forged)


def test_a_raised_bound_is_refused(forged: Path) -> None:
    """The sum is what is proven, no more."""
    claimed = verify(forged).lower_bound
    change_content(forged, lambda content: content.update(lower_bound=claimed * (1 + 1e-12)))
    with pytest.raises(CertificateError, match="proves only"):
        verify(forged)


def test_a_gram_matrix_has_no_parts(tmp_path: Path) -> None:
    """Costs of an indefinite matrix need not add up."""
    result = solve(gram=np.eye(6), n_clusters=2)
    result.save(tmp_path, report=False)
    assert result.parts == 1

    def claim(content: Content) -> None:
        content["proof"][0] = [{"kind": "parts", "parts": [[[{"kind": "covariance"}]]]}]

    change_content(tmp_path, claim)
    with np.load(tmp_path / "certificate.npz") as archive:
        kept = {name: array for name, array in archive.items() if not name.startswith("e0")}
    np.savez(tmp_path / "certificate.npz", **kept)
    with pytest.raises(MalformedCertificateError, match="only points have parts"):
        verify(tmp_path)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a certificate of parts of a problem with prescribed sizes."""
    points = np.array([[0.0, 0.0], [6.0, 0.0]])[np.arange(40) % 2] + np.random.default_rng(1).normal(size=(40, 2))
    result = solve(points, 2, sizes=[15, 25], part_size=20)
    assert result.parts == 2
    folder = tmp_path_factory.mktemp("limited")
    result.save(folder, report=False)
    assert verify(folder).lower_bound >= result.lower_bound
    return folder


def _claim_anchors(content: Content) -> None:
    content["proof"][0][-1]["parts"][0][0][-1]["anchors"] = [0]


def _branch_on_sizes(content: Content) -> None:
    entries = content["proof"][0][-1]["parts"][0]
    entries[0].append({"kind": "branch_sizes", "point": 0, "entries": [1, 2]})
    entries += [[], []]


def _multipliers_of_limits(arrays: Arrays) -> None:
    arrays["e0s0_size_multiplier"] = np.ones((20, 2))


def _negative_slack(arrays: Arrays) -> None:
    """Lower limits would allow V to be negative."""
    slack = arrays["e0s0_slack"]
    slack[np.cumsum([0, *range(20, 1, -1)])] -= np.float32(0.3) * (np.arange(20) % 3).astype(np.float32)


@pytest.mark.parametrize(
    ("in_content", "in_arrays"),
    [
        (_claim_anchors, None),
        (_claim_anchors, _multipliers_of_limits),
        (_branch_on_sizes, None),
        (None, _multipliers_of_limits),
        (None, _negative_slack),
    ],
    ids=["anchors", "anchors with multipliers", "a branch on sizes", "multipliers of limits", "negative slack"],
)
def test_a_part_that_claims_limits_is_refused(
    in_content: Callable[[Content], None] | None,
    in_arrays: Callable[[Arrays], None] | None,
    limited: Path,
    tmp_path: Path,
) -> None:
    """Sizes of the whole say nothing about a part: a cluster may have its other points elsewhere."""
    forged = Path(shutil.copytree(limited, tmp_path / "forged"))
    if in_content is not None:
        change_content(forged, in_content)
    if in_arrays is not None:
        change_part(forged, 0, in_arrays)
    with pytest.raises((CertificateError, MalformedCertificateError)):
        verify(forged)

"""The step ``regions`` of a certificate: what it proves, and what the checker refuses."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certimeans import solve
from certimeans.certificate.check import verify
from certimeans.certificate.geometry import PointData
from certimeans.certificate.joins import least_join
from certimeans.certificate.regions import Cost, _least_sum
from certimeans.errors import CertificateError, MalformedCertificateError
from tests.oracles.far import far_instance

Arrays = dict[str, Any]
Content = dict[str, Any]


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a certificate of three regions, with links inside of them and across, weights and standardised features."""
    random = np.random.default_rng(4)
    points = random.normal(size=(24, 2)) + 1e3 * np.array([[0, 0], [1, 0], [0, 2]])[np.arange(24) % 3]
    weights = random.integers(1, 4, size=24) / 3
    links: dict[str, Any] = {"must_link": [(0, 3), (1, 4)], "cannot_link": [(0, 6), (1, 2), (5, 9), (4, 7)]}
    result = solve(points, 6, standardize=True, sample_weight=weights, **links)
    folder = tmp_path_factory.mktemp("genuine")
    result.save(folder, report=False)
    assert result.gap <= 1e-4
    return folder


@pytest.fixture
def forged(genuine: Path, tmp_path: Path) -> Path:
    """Make a copy to be falsified."""
    return Path(shutil.copytree(genuine, tmp_path / "forged"))


def change(folder: Path, edit: Callable[[Content, Arrays], None]) -> None:
    """Change the step in ``certificate.json``, and the array of regions."""
    (folder / "result.json").unlink(missing_ok=True)
    path, archive = folder / "certificate.json", folder / "certificate.npz"
    content = json.loads(path.read_text(encoding="utf-8"))
    with np.load(archive) as stored:
        arrays = dict(stored)
    edit(content["proof"][0][0], arrays)
    path.write_text(json.dumps(content), encoding="utf-8")
    np.savez(archive, **arrays)


def proof_of(step: Content, region: int) -> int:
    """Return the number of the first proof of a region that has a search behind it."""
    return next(p for p, one in enumerate(step["proofs"]) if one["region"] == region and one["clusters"] > 1)


def test_the_genuine_certificate_is_verified(genuine: Path) -> None:
    """Alone and in two processes, in floats and in balls."""
    verification = verify(genuine, gap=1e-4)
    assert verification.n_regions == 3
    assert verify(genuine, n_jobs=2).lower_bound == verification.lower_bound
    assert verify(genuine, arithmetic="ball").lower_bound == pytest.approx(verification.lower_bound, rel=1e-6)


def move(point: int, to: int) -> Callable[[Content, Arrays], None]:
    """Put a point into another region."""

    def edit(_: Content, arrays: Arrays) -> None:
        arrays["e0s0_regions"][point] = to

    return edit


def with_members(folder: Path) -> None:
    """Let the proofs be about the points that the regions now have."""
    content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    with np.load(folder / "certificate.npz") as stored:
        region_of = stored["e0s0_regions"]
    for p, one in enumerate(content["proof"][0][0]["proofs"]):
        path = folder / "certificate.parts" / f"e0s0p{p}.npz"
        members = np.flatnonzero(region_of == one["region"])
        np.savez(path, members=members)
        one["proof"] = [[{"kind": "covariance"}]]
    (folder / "certificate.json").write_text(json.dumps(content), encoding="utf-8")


def test_a_point_in_another_region(forged: Path) -> None:
    """Proofs are then about other points; if these follow, the regions are too near to each other."""
    change(forged, move(8, 0))
    with pytest.raises(CertificateError, match="other points than those of the region"):
        verify(forged)
    with_members(forged)
    with pytest.raises(CertificateError, match="proves only"):
        verify(forged)


def test_a_group_in_two_regions(forged: Path) -> None:
    """Points 0 and 3 must link."""
    change(forged, move(3, 1))
    with pytest.raises(CertificateError, match="the group of point 0 lies in two regions"):
        verify(forged)


def test_a_point_in_no_region(forged: Path) -> None:
    """Every point has a region, a number from 0 on without gaps, and there are at least two."""
    for region in (-1, 24, 7):
        change(forged, move(5, region))
        with pytest.raises(MalformedCertificateError, match="regions"):
            verify(forged)
    change(forged, lambda _, arrays: arrays.update(e0s0_regions=np.zeros(24, dtype=np.int64)))
    with pytest.raises(MalformedCertificateError, match="two regions at least"):
        verify(forged)


def test_a_missing_proof_counts_as_one_with_more_clusters_or_zero(forged: Path) -> None:
    """Without the proofs of a region, nothing is proven about it."""

    def drop(step: Content, _: Arrays) -> None:
        for p in reversed(range(len(step["proofs"]))):
            if step["proofs"][p]["region"] == 2:
                step["proofs"].pop(p)

    change(forged, drop)
    with pytest.raises(CertificateError, match=r"proves only|other points"):
        verify(forged)


def test_several_processes_prove_the_same(genuine: Path) -> None:
    """A few proofs at a time are handed to them."""
    assert verify(genuine, n_jobs=2).lower_bound == verify(genuine).lower_bound


def test_sums_beyond_all_floats_may_stand_beside_infinity() -> None:
    """Two regions cost more than a float can hold, and one cannot have a single cluster; two of them can be paid."""
    largest = Fraction(np.finfo(float).max)
    tables: list[list[Cost]] = [[largest], [largest], [math.inf, Fraction(1)]]
    assert _least_sum(tables, 3) == math.inf
    assert _least_sum(tables, 4) == 2 * largest + 1


def test_a_proof_for_another_number_of_clusters(forged: Path) -> None:
    """It is read as being about that number; for the one that counts, nothing but a weaker bound is left."""

    def edit(step: Content, _: Arrays) -> None:
        own = [(p, one) for p, one in enumerate(step["proofs"]) if one["region"] == 2]
        most = max(one["clusters"] for _, one in own)
        chosen = proof_of(step, 2)
        for p, one in own:
            if p == chosen:
                one["clusters"] = most + 1
            else:
                one["proof"] = [[]]
                path = forged / "certificate.parts" / f"e0s0p{p}.npz"
                with np.load(path) as stored:
                    members = stored["members"]
                np.savez(path, members=members)

    change(forged, edit)
    with pytest.raises(CertificateError, match="proves only"):
        verify(forged)


def test_the_proof_of_another_region(forged: Path) -> None:
    """Its points are others."""

    def edit(step: Content, _: Arrays) -> None:
        step["proofs"][proof_of(step, 1)]["region"] = 2

    change(forged, edit)
    with pytest.raises(CertificateError, match=r"other points|two proofs"):
        verify(forged)


def test_a_bound_that_is_raised(forged: Path) -> None:
    """By a millionth of itself, as long as it is not above the cost."""
    path = forged / "certificate.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    proven = verify(forged).lower_bound
    content["lower_bound"] = min(math.nextafter(proven, math.inf), content["objective"])
    (forged / "result.json").unlink()
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(CertificateError, match="proves only"):
        verify(forged)


@pytest.mark.parametrize(
    "proofs",
    [
        None,
        {},
        [3],
        [{}],
        [{"region": 0, "clusters": 0, "proof": [[]]}],
        [{"region": 3, "clusters": 1, "proof": [[]]}],
        [{"region": 0, "clusters": 99, "proof": [[]]}],
        [{"region": True, "clusters": 1, "proof": [[]]}],
        [{"region": 0, "clusters": 1.0, "proof": [[]]}],
        [{"region": 0, "clusters": 1}],
        [{"region": 0, "clusters": 1, "proof": [[{"kind": "regions", "proofs": []}]]}],
        [{"region": 0, "clusters": 1, "proof": [[{"kind": "identical"}]]}],
    ],
)
def test_what_is_no_list_of_proofs(forged: Path, proofs: object) -> None:
    """Refused as not well-formed."""
    change(forged, lambda step, _: step.update(proofs=proofs))
    with pytest.raises(MalformedCertificateError):
        verify(forged)


def test_limits_on_sizes_have_no_regions(tmp_path: Path) -> None:
    """A step by regions says nothing about them."""
    result = solve([[0.0], [1.0], [2.0], [50.0]], 2, size_min=1)
    result.save(tmp_path, report=False)

    def edit(step: Content, arrays: Arrays) -> None:
        step.clear()
        step.update(kind="regions", proofs=[])
        for name in [name for name in arrays if name.startswith("e0s0_")]:
            del arrays[name]
        arrays["e0s0_regions"] = np.array([0, 0, 0, 1])

    change(tmp_path, edit)
    with pytest.raises(CertificateError, match="limits on sizes"):
        verify(tmp_path)


@pytest.mark.parametrize("block", range(3))
def test_joining_costs_no_less_than_is_said(block: int) -> None:
    """Against exact numbers, with groups and extreme magnitudes; and hardly more, where nothing underflows."""
    n_near = 0
    for seed in range(60 * block, 60 * (block + 1)):
        far = far_instance(seed, extreme=bool(seed % 2))
        random = np.random.default_rng(seed)
        points, n = np.array(far.base.points), len(far.base.points)
        weights = np.ones(n) if far.base.weights is None else np.array(far.base.weights)
        groups = np.unique(random.integers(0, n, size=n), return_inverse=True)[1].reshape(-1).astype(np.int64)
        size = int(groups.max()) + 1
        if size < 2:
            continue
        region = np.append(random.integers(0, 2, size=size - 2), [0, 1])
        stated = far.statement()
        exact = []
        for a in np.flatnonzero(region == 0).tolist():
            for b in np.flatnonzero(region == 1).tolist():
                both = [i for i in range(n) if groups[i] in {a, b}]
                part = stated._replace(
                    products=[[stated.products[i][j] for j in both] for i in both],
                    weights=[stated.weights[i] for i in both],
                )
                exact.append(part.cost([0] * len(both)) - part.cost([int(groups[i] == a) for i in both]))
        found = least_join(PointData(points, weights, standardize=far.standardize), groups, size, region)
        assert found <= min(exact), seed
        n_near += found >= min(exact) * (1 - Fraction(1, 10**12))
    assert n_near > 40

"""Certificates that the solver writes: proven by the checker, and refused when they are falsified."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certimeans import solve
from certimeans.certificate.check import verify
from certimeans.cli import main
from certimeans.errors import CertimeansError
from tests.oracles.tampering import FILE_TAMPERINGS, NEED_DATA, TAMPERINGS, NotApplicableError


def solved(folder: Path, seed: int = 0, **options: Any) -> Any:
    """Solve uniform points, which need a tree, with links of which some imply others; write the result."""
    random = np.random.default_rng(seed)
    hidden = random.integers(0, 3, size=30)
    pairs = random.integers(0, 30, size=(20, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    result = solve(random.random((30, 3)), 3, must_link=pairs[same], cannot_link=pairs[~same], **options)
    result.save(folder, report=False)
    return result


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write one result for all tests that only read it."""
    folder = tmp_path_factory.mktemp("whole")
    solved(folder)
    return folder


@pytest.mark.parametrize("seed", range(3))
def test_what_the_solver_claims_is_proven(seed: int, tmp_path: Path) -> None:
    """The gap that was asked for, about the instance that was given, in both arithmetics and in two processes."""
    result = solved(tmp_path, seed)
    verification = verify(tmp_path, gap=1e-4, instance=result.instance)
    assert verification.objective == result.objective
    assert verification.lower_bound >= result.lower_bound
    assert verify(tmp_path, gap=1e-4, n_jobs=2).lower_bound == verification.lower_bound
    assert verify(tmp_path, gap=1e-4, arithmetic="ball").lower_bound >= result.lower_bound


def test_many_cannot_links_of_two_clusters_leave_a_certificate_that_is_read(tmp_path: Path) -> None:
    """Five links per point: each point is inferred to be with others many times over, and once is enough."""
    random = np.random.default_rng(0)
    side, pairs = random.integers(0, 2, size=80), random.integers(0, 80, size=(800, 2))
    result = solve(random.normal(size=(80, 2)), 2, cannot_link=pairs[side[pairs[:, 0]] != side[pairs[:, 1]]])
    result.save(tmp_path, report=False)
    assert verify(tmp_path).lower_bound == pytest.approx(result.objective)


def test_a_search_that_was_stopped_proves_its_bound(tmp_path: Path) -> None:
    """Open nodes count with the bounds of their ancestors."""
    result = solved(tmp_path, max_nodes=1, gap=1e-9)
    assert result.lower_bound <= verify(tmp_path).lower_bound <= result.objective


def test_a_gram_matrix_is_proven_like_its_points(tmp_path: Path) -> None:
    """The same optimum from inner products as from points."""
    points = np.round(np.random.default_rng(1).normal(size=(20, 2)) * 64) / 64
    solve(points, 3).save(tmp_path / "points", report=False)
    stated: dict[str, Any] = {"gram": points @ points.T, "n_clusters": 3}
    solve(**stated).save(tmp_path / "gram", report=False)
    first, second = verify(tmp_path / "points", gap=1e-4), verify(tmp_path / "gram", gap=1e-4)
    assert first.cost == pytest.approx(second.cost, rel=1e-4)
    assert second.geometry == "gram"


def test_standardising_is_part_of_the_proof(tmp_path: Path) -> None:
    """The certificate of a standardised solve is about the file's own numbers."""
    data, out = tmp_path / "points.csv", tmp_path / "out"
    np.savetxt(data, np.random.default_rng(2).random((20, 2)) * [1.0, 1000.0], delimiter=",")
    options = ["-k", "2", "--standardize"]
    assert main(["solve", str(data), *options, "--out", str(out), "--quiet"]) == 0
    assert main(["verify", str(out), "--gap", "1e-4", "--data", str(data), *options]) == 0
    assert main(["verify", str(out), "--data", str(data), "-k", "2"]) == 1
    content = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    assert content["standardize"] is True


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_with_the_solvers_certificate_is_rejected(name: str, whole: Path, tmp_path: Path) -> None:
    """Every falsification that applies is refused."""
    content = json.loads((whole / "certificate.json").read_text(encoding="utf-8"))
    with np.load(whole / "certificate.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    try:
        TAMPERINGS[name](content, arrays)
    except NotApplicableError:
        return
    (tmp_path / "certificate.json").write_text(json.dumps(content), encoding="utf-8")
    np.savez(tmp_path / "certificate.npz", **arrays)
    if name in NEED_DATA:
        return  # test_tampering.py has the instance to compare with
    with pytest.raises(CertimeansError):
        verify(tmp_path)


@pytest.mark.parametrize("name", FILE_TAMPERINGS)
def test_damaged_files_of_the_solver_are_refused(name: str, whole: Path, tmp_path: Path) -> None:
    """The same for files as the solver writes them, compressed."""
    for file in ("certificate.json", "certificate.npz"):
        (tmp_path / file).write_bytes((whole / file).read_bytes())
    FILE_TAMPERINGS[name](tmp_path)
    with pytest.raises(CertimeansError):
        verify(tmp_path)

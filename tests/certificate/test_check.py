import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from certimeans.certificate.check import verify
from certimeans.certificate.steps import Arithmetic
from certimeans.errors import CertificateError, InputError, MalformedCertificateError
from tests.oracles.certificates import Draft, Task, add_relaxation, empty_certificate, optimality_certificate
from tests.oracles.instances import SmallInstance, random_instance

ARITHMETICS: list[Arithmetic] = ["float", "ball"]
FOUR = SmallInstance([[0.0], [1.0], [5.0], [6.0]], 2, [(0, 1)], [(1, 2)], None)


def task_of(seed: int, kind: str) -> Task:
    """Draw a small instance; its costs come from points, scaled points, or a matrix that is not semidefinite."""
    small = random_instance(seed, max_points=6, weighted=seed % 2 == 0)
    matrix = np.random.default_rng(seed).normal(size=(len(small.points), len(small.points)))
    return Task(small, kind == "standardized", (matrix + matrix.T).tolist() if kind == "gram" else None)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("kind", ["points", "standardized", "gram"])
def test_optimality_of_small_instances_is_re_proven(kind: str, arithmetic: Arithmetic, tmp_path: Path) -> None:
    """The proven bound is at most the enumerated optimum, and reaches it up to rounding; infeasibility is proven."""
    for seed in range(20):
        task = task_of(seed, kind)
        verification = verify(optimality_certificate(task, seed).write(tmp_path), arithmetic=arithmetic)
        best = task.optimum()
        if best is None:
            assert verification.cost is None
            assert verification.lower_bound == np.inf
        else:
            assert verification.cost is not None
            assert verification.lower_bound <= best[0] <= verification.cost
            assert verification.cost <= np.nextafter(float(best[0]), np.inf)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize(
    ("offset", "exponent"), [(0.0, 0), (1e8, 0), (1e8, 100), (-1e8, -100), (1.0, -530), (1.0, 500)]
)
def test_offsets_and_scales_cost_no_digits(
    arithmetic: Arithmetic, offset: float, exponent: int, tmp_path: Path
) -> None:
    """Points far from the origin, huge or tiny, are proven to the same relative accuracy."""
    points = np.ldexp(np.random.default_rng(5).normal(size=(6, 2)) + offset, exponent)
    small = SmallInstance(points.tolist(), 3, [(0, 1)], [(1, 2), (2, 3)], [1.0, 2.0, 1.0, 0.5, 1.0, 1.0])
    verification = verify(optimality_certificate(small).write(tmp_path), arithmetic=arithmetic)
    assert verification.cost is not None
    assert verification.cost > 0
    assert 0 <= verification.gap < (1e-11 if exponent > -500 else 1e-3)  # there, floats have few digits left


def test_standardised_costs_are_those_of_the_scaled_points(tmp_path: Path) -> None:
    """Features in other units have the same costs, constant features do not count, and the sentence says so."""
    points = np.array([[0.0, 1.0, 7.0], [1.0, 3.0, 7.0], [5.0, 2.0, 7.0], [6.0, 9.0, 7.0]])
    small = FOUR._replace(points=points.tolist())
    other = FOUR._replace(points=(points * [1000.0, 0.125, 1.0]).tolist())
    first, second = (verify(optimality_certificate(Task(s, standardize=True)).write(tmp_path)) for s in (small, other))
    assert first.cost == second.cost
    assert first.lower_bound == pytest.approx(second.lower_bound, rel=1e-12)
    scaled = (points[:, :2] - points[:, :2].mean(axis=0)) / points[:, :2].std(axis=0)
    assert first.cost == pytest.approx(2 * sum(scaled[i : i + 2].var(axis=0).sum() for i in (0, 2)))
    assert "with every feature divided by its standard deviation" in first.sentence()


def test_squared_distances_are_a_gram_matrix(tmp_path: Path) -> None:
    """K = -D / 2 gives the costs of the points."""
    points = np.array(FOUR.points)
    gram = -((points - points.T) ** 2) / 2
    verification = verify(optimality_certificate(Task(FOUR, gram=gram.tolist())).write(tmp_path))
    assert verification.cost == verify(optimality_certificate(FOUR).write(tmp_path)).cost == 1.0
    assert "Gram matrix" in verification.sentence()


def test_without_a_bound_points_have_zero_and_a_gram_matrix_nothing(tmp_path: Path) -> None:
    """Costs of points are never negative; those of a matrix may be."""
    assert verify(empty_certificate(FOUR).write(tmp_path)).lower_bound == 0.0
    with pytest.raises(CertificateError, match="entry 0 proves only -inf"):
        verify(empty_certificate(Task(FOUR, gram=np.eye(4).tolist())).write(tmp_path))


def test_negative_slack_is_allowed_exactly_where_points_cannot_link(tmp_path: Path) -> None:
    """The sign depends on the state of the entry, cannot-links of decisions included."""
    small = SmallInstance([[0.0], [1.0], [5.0]], 2, [], [(0, 1)], None)
    for pair, fails in (((0, 1), False), ((0, 2), True), ((2, 2), True)):
        draft = empty_certificate(small)
        slack = np.zeros((3, 3))
        slack[pair] = -0.1
        add_relaxation(draft, 0, range(3), (), slack)
        if fails:
            with pytest.raises(CertificateError, match=f"slack of super-points {pair[0]} and {pair[1]}"):
                verify(draft.write(tmp_path))
        else:
            verify(draft.write(tmp_path))


def test_forbidden_pairs_are_those_of_points_not_of_groups(tmp_path: Path) -> None:
    """Points 0 and 1 must link and 1 cannot link with 2: as super-points of their own, 0 and 2 are not forbidden."""
    small = SmallInstance([[0.0], [1.0], [5.0]], 2, [(0, 1)], [(1, 2)], None)
    draft = empty_certificate(small)
    add_relaxation(draft, 0, range(3), (), np.array([[0, 0, 0], [0, 0, -0.1], [0, 0, 0]]))
    verify(draft.write(tmp_path))
    draft = empty_certificate(small)
    add_relaxation(draft, 0, range(3), (), np.array([[0, 0, -0.1], [0, 0, 0], [0, 0, 0]]))
    with pytest.raises(CertificateError, match="slack of super-points 0 and 2"):
        verify(draft.write(tmp_path))


def test_a_step_after_a_decision_sees_it(tmp_path: Path) -> None:
    """A bound of one entry counts for its own clusterings only: the smaller of two entries is what is proven."""
    draft = empty_certificate(FOUR._replace(must_link=[], cannot_link=[], k=1))
    draft.content["proof"] = [[], [{"kind": "covariance"}], []]
    draft.content["proof"][0] = [{"kind": "branch", "pair": [0, 1], "together": 1, "apart": 2}]
    assert verify(draft.write(tmp_path)).lower_bound == 0.0
    draft.content["proof"][2] = [{"kind": "infeasible"}]
    verification = verify(draft.write(tmp_path))
    assert verification.lower_bound == pytest.approx(26.0)
    assert (verification.n_leaves, verification.n_infeasible, verification.n_entries) == (2, 1, 3)


def test_several_processes_prove_the_same(tmp_path: Path) -> None:
    """Bounds do not depend on where they are computed, and errors come back."""
    task = task_of(7, "points")
    draft = optimality_certificate(task)
    folder = draft.write(tmp_path)
    alone, together = verify(folder), verify(folder, n_jobs=2)
    assert (alone.lower_bound, alone.n_leaves) == (together.lower_bound, together.n_leaves)
    draft.content["lower_bound"] = draft.content["objective"]
    with pytest.raises(CertificateError, match="claimed lower bound"):
        verify(draft.write(tmp_path), n_jobs=2)


def test_all_cores_and_arguments_that_are_none(tmp_path: Path) -> None:
    """-1 stands for all cores, as in the solver; what is no problem or no number of processes is refused by name."""
    folder = optimality_certificate(FOUR).write(tmp_path)
    assert verify(folder, n_jobs=-1).lower_bound == verify(folder).lower_bound
    with pytest.raises(InputError, match="n_jobs must be at least 1, or -1"):
        verify(folder, n_jobs=-2)
    with pytest.raises(InputError, match="instance must be a problem"):
        verify(folder, instance=np.zeros((4, 1)))


def test_sentence_says_what_is_proven_and_stays_true(tmp_path: Path) -> None:
    """Numbers in the sentence are rounded up for costs and gaps and down for bounds."""
    small = SmallInstance([[0.0], [1 / 3], [5.0], [5.1]], 2, [(0, 1)], [(1, 2)], None)
    verification = verify(optimality_certificate(small).write(tmp_path))
    sentence = verification.sentence()
    assert sentence.startswith(
        "Proven: the clustering keeps all 1 must-link and 1 cannot-link and costs 0.06055556; no clustering of the 4 "
        "points into 2 clusters that keeps them costs less than 0.06055555 (gap "
    )
    assert sentence.endswith(" %); 2 leaves, 0 infeasible.")
    assert float(sentence.partition("(gap ")[2].partition(" %")[0]) >= 100 * verification.gap > 0
    assert (
        "Proven: the clustering costs 0.06055556; no clustering of the 4 points into 2 clusters costs less"
        in replace(verification, must_links=0, cannot_links=0).sentence()
    )
    assert (
        "2 clusters that keeps all 1 must-link and 1 cannot-link costs less"
        in replace(verification, cost=None).sentence()
    )
    assert (
        "Proven: no clustering of the 4 points into 2 clusters keeps all 1 must-link and 1 cannot-link; 2 leaves"
        in replace(verification, cost=None, lower_bound=math.inf).sentence()
    )
    nothing = replace(verification, cost=None, lower_bound=-math.inf).sentence()
    assert nothing.startswith("Proven: nothing about other clusterings of the 4 points")


def test_a_gap_that_is_asked_for_must_be_proven(tmp_path: Path) -> None:
    """The comparison is exact, and the message has the proven gap, rounded up."""
    draft = optimality_certificate(FOUR)
    folder = draft.write(tmp_path)
    gap = verify(folder).gap
    verify(folder, gap=gap)
    with pytest.raises(CertificateError, match=r"a gap of .* is not proven: only .*e-.* is"):
        verify(folder, gap=0.5 * gap)
    with pytest.raises(CertificateError, match="none is"):
        verify(empty_certificate(FOUR).write(tmp_path), gap=1.0)
    with pytest.raises(InputError, match="gap must be"):
        verify(folder, gap=-1.0)


def result_of(draft: Draft, **changes: Any) -> str:
    content = {key: draft.content[key] for key in ("n", "d", "k", "objective", "lower_bound")}
    content |= {"labels": draft.arrays["labels"].tolist() if "labels" in draft.arrays else None}
    content |= {f"{name}s": len(draft.arrays[name]) for name in ("must_link", "cannot_link")}
    content |= {"gap": 1e-4, "target_gap": 1e-4, "status": "optimal"}
    return json.dumps({key: value for key, value in (content | changes).items() if value != "missing"})


def test_a_result_beside_the_certificate_must_not_claim_more(tmp_path: Path) -> None:
    """Every number of result.json that the certificate has is compared; gap and status have to be proven."""
    draft = optimality_certificate(FOUR)
    folder = draft.write(tmp_path)
    (folder / "result.json").write_text(result_of(draft), encoding="utf-8")
    verify(folder)
    lies: dict[str, Any] = {"n": 5, "d": 2, "k": 3, "objective": 0.5, "lower_bound": 0.99, "labels": [0, 0, 0, 1],
                            "gap": 0.0, "target_gap": 0.0, "must_links": 0, "cannot_links": 2}  # fmt: skip
    told = [{key: value} for key, value in lies.items()] + [{key: "missing"} for key in json.loads(result_of(draft))]
    told += [{"status": "infeasible"}, {"status": "perfect"}, {"gap": None}, {"gap": 1e-3}, {"status": ["optimal"]}]
    for changes in told:
        (folder / "result.json").write_text(result_of(draft, **changes), encoding="utf-8")
        with pytest.raises(CertificateError, match=r"result\.json"):
            verify(folder)
    for changes in ({"status": "time_limit", "gap": None}, {"status": "interrupted", "gap": 0.5}):
        (folder / "result.json").write_text(result_of(draft, **changes), encoding="utf-8")
        verify(folder)  # claims less
    (folder / "result.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"result\.json"):
        verify(folder)


def test_infeasibility_must_be_proven_to_be_claimed(tmp_path: Path) -> None:
    """A result without labels may say 'infeasible' only beside a proof of that."""
    clique = FOUR._replace(must_link=[], cannot_link=[(0, 1), (0, 2), (1, 2)])
    draft = empty_certificate(clique)
    folder = draft.write(tmp_path)
    claim = result_of(draft, status="infeasible", gap=None)
    (folder / "result.json").write_text(claim, encoding="utf-8")
    with pytest.raises(CertificateError, match="that no clustering exists is not proven"):
        verify(folder)
    draft.add(0, "infeasible")
    verify(draft.write(tmp_path))


def test_original_data_are_compared(tmp_path: Path) -> None:
    """A certificate of other points, constraints or k is refused, and the message says what differs."""
    folder = optimality_certificate(FOUR).write(tmp_path)
    verify(folder, instance=FOUR.build())
    others = {
        "k = 2, not 3": FOUR._replace(k=3),
        "points in the certificate differ": FOUR._replace(points=[[0.0], [1.0], [5.0], [6.5]]),
        "cannot_link in the certificate differ": FOUR._replace(cannot_link=[(1, 3)]),
        "about 1 must-links, the data about 0": FOUR._replace(must_link=[]),
        "weights in the certificate differ": FOUR._replace(weights=[2.0] * 4),
    }
    for message, other in others.items():
        with pytest.raises(CertificateError, match=message):
            verify(folder, instance=other.build())
    stated = {"n_clusters": 2, **empty_certificate(FOUR).arrays}
    with pytest.raises(CertificateError, match="features as they are, but this is to be about features scaled"):
        verify(folder, instance=SimpleNamespace(standardize=True, **stated))
    with pytest.raises(CertificateError, match="about points, not a Gram matrix"):
        verify(folder, instance=SimpleNamespace(geometry="gram", table=np.eye(4), **stated))


def test_refusals_are_of_three_kinds(tmp_path: Path) -> None:
    """Not proven, not readable, and not a certificate are told apart by type."""
    draft = optimality_certificate(FOUR)
    draft.content["lower_bound"] = draft.content["objective"]
    with pytest.raises(CertificateError) as refusal:
        verify(draft.write(tmp_path))
    assert not isinstance(refusal.value, MalformedCertificateError)
    draft.content["proof"] = [[{"kind": "magic"}]]
    with pytest.raises(MalformedCertificateError, match="'magic' is not known"):
        verify(draft.write(tmp_path))
    with pytest.raises(InputError, match="no such file"):
        verify(tmp_path / "nowhere")
    with pytest.raises(InputError, match="'float' or 'ball'"):
        verify(tmp_path, arithmetic="decimal")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="n_jobs"):
        verify(tmp_path, n_jobs=0)


def test_missing_flint_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the message says how to install it."""
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(InputError, match=r"certimeans\[verify\]"):
        verify(tmp_path, arithmetic="ball")


def test_checker_imports_nothing_of_the_solver(tmp_path: Path) -> None:
    """A run of the command without --data loads no part of the solver and no compiled code."""
    folder = optimality_certificate(random_instance(3, max_points=5)).write(tmp_path)
    program = (
        "import json, sys; from certimeans.cli import main; code = main(['verify', sys.argv[1]]); "
        "print(json.dumps([code, [m for m in sys.modules if m.startswith(('certimeans', 'numba'))]]))"
    )
    run = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True)
    code, modules = json.loads(run.stdout.splitlines()[-1])
    assert code == 0
    assert "certimeans.certificate.check" in modules
    allowed = ("certimeans.certificate", "certimeans.commands", "certimeans.cli", "certimeans.errors")
    others = {m for m in modules if not m.startswith(allowed)}
    shared = {"certimeans", "certimeans._typing", "certimeans._version", "certimeans.orphans"}
    assert others <= {*shared, "certimeans.printing"}  # the command line writes messages with it

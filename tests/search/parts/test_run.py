"""Whole solves by parts: bounds, limits, resumption, dying workers."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certimeans import InputError, SolveResult, SolverSettings, SolveStatus, solve, solve_range, verify
from certimeans._typing import IntArray
from certimeans.bounds.parts.bounding import Effort, PartBound, bound_part
from certimeans.bounds.parts.problem import Part
from certimeans.bounds.parts.settings import PartSettings
from certimeans.bounds.parts.splitting import make_part, split_into_parts
from certimeans.cli import main
from certimeans.deadline import Deadline
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from certimeans.proof.parts import pack_part
from certimeans.proof.steps import CovarianceStep
from certimeans.search.executors import connect
from certimeans.search.limits import Progress
from certimeans.search.parts.store import PartStore, Plan
from certimeans.search.parts.tasks import PartTask, perform_parts
from tests.oracles.brute_force import optimum
from tests.oracles.cluster import Cluster
from tests.oracles.instances import random_instance
from tests.search.test_faults import worker_pids


def blobs(n: int = 240, sigma: float = 0.7) -> np.ndarray:
    """Draw four clusters in the plane."""
    random = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]])
    return centres[np.arange(n) % 4] + random.normal(0, sigma, size=(n, 2))


def links(n: int = 240) -> dict[str, Any]:
    """Choose some pairs of either kind that contradict nothing."""
    return {
        "must_link": [(i, i + 4) for i in range(0, n - 4, 24)],
        "cannot_link": [(i, i + 1) for i in range(0, n - 1, 9)],
    }


def test_the_bound_by_parts_is_close_to_that_of_the_whole() -> None:
    """240 points in four parts: a bound below the optimum, and not far below."""
    whole = solve(blobs(), 4, **links(), part_size=None)
    result = solve(blobs(), 4, **links(), part_size=60)
    assert whole.status is SolveStatus.OPTIMAL
    assert (result.parts, whole.parts, whole.part_size) == (4, 1, None)
    assert result.part_size is not None
    assert 57 <= result.part_size <= 60
    assert 0.99 * whole.objective < result.lower_bound <= whole.objective
    assert result.objective == pytest.approx(whole.objective, rel=1e-3)
    assert "240 points were bounded in 4 parts of about 60" in result.summary()
    assert json.loads(result.to_json())["parts"] == 4
    if result.status is not SolveStatus.OPTIMAL:
        assert result.status is SolveStatus.INTERRUPTED
        assert "all parts are bounded" in result.message


def test_a_run_that_ends_by_itself_was_not_interrupted_by_anyone(tmp_path: Path) -> None:
    """All parts are bounded and the gap stays open: that is a limit, for the exit code and for a range of k."""
    np.save(tmp_path / "points.npy", blobs())
    common = ["solve", str(tmp_path / "points.npy"), "--part-size", "40", "--gap", "1e-9", "--quiet"]
    assert main([*common, "-k", "4"]) == 1
    assert list(solve_range(blobs(), [3, 4], part_size=40, gap=1e-9)) == [3, 4]


def test_certificates_of_small_instances_never_claim_more_than_the_optimum(tmp_path: Path) -> None:
    """Forced into parts, solved, saved, verified, and compared with all clusterings."""
    verified = 0
    for seed in range(60):
        small = random_instance(seed, max_points=9, weighted=bool(seed % 2))
        best = optimum(*small).cost
        if best is None or small.k < 2:
            continue
        result = solve(small.points, small.k, must_link=small.must_link, cannot_link=small.cannot_link,
                       sample_weight=small.weights, part_size=max(2, len(small.points) // 2 - 1))  # fmt: skip
        assert result.lower_bound <= best * (1 + 1e-12)
        result.save(tmp_path, overwrite=True, report=False)
        verification = verify(tmp_path)
        assert result.lower_bound <= verification.lower_bound <= best * (1 + 1e-12)
        verified += verification.n_parts > 0
    assert verified >= 5


@pytest.mark.parametrize("transform", ["translate", "scale", "permute"])
def test_bounds_move_with_the_points(transform: str) -> None:
    """Translated, scaled or renumbered points have the same clustering, and bounds that belong to it."""
    points, factor = blobs(160), 1.0
    if transform == "translate":
        points = points + 1e6
    elif transform == "scale":
        points, factor = points * 2.0**40, 2.0**80
    else:
        points = points[np.random.default_rng(1).permutation(160)]
    plain, moved = solve(blobs(160), 4, part_size=40), solve(points, 4, part_size=40)
    assert moved.objective == pytest.approx(factor * plain.objective, rel=1e-6)
    assert moved.lower_bound <= moved.objective
    assert moved.lower_bound == pytest.approx(factor * plain.lower_bound, rel=0.05)


def test_automatic_sizes_reach_the_gap_by_uniting(tmp_path: Path) -> None:
    """2,600 points that fall into clusters: the gap is reached, and the certificate proves it."""
    result = solve(blobs(2600, 0.4), 4, gap=2e-3, n_jobs=2)
    assert result.status is SolveStatus.OPTIMAL
    assert result.parts > 1
    result.save(tmp_path, report=False)
    assert verify(tmp_path, gap=2e-3, n_jobs=2).n_parts >= 1


def test_there_is_a_bound_before_the_pilots(tmp_path: Path) -> None:
    """Ctrl-C before the first large part is bounded: small parts with few iterations proved something, verified too."""
    random = np.random.default_rng(0)
    points = 8 * random.random((5, 6))[np.arange(6000) % 5] + random.normal(size=(6000, 6))
    seen: list[float] = []

    def interrupt(progress: Progress) -> None:
        if progress.gap < 0.1 and not seen:
            seen.append(progress.gap)
            os.kill(os.getpid(), signal.SIGINT)

    result = solve(points, 5, gap=1e-5, time_limit=60.0, callback=interrupt)
    assert result.status is SolveStatus.INTERRUPTED
    assert result.statistics.cuts == 0
    assert result.parts > 20
    result.save(tmp_path, report=False)
    assert verify(tmp_path).lower_bound >= result.lower_bound > 0.9 * result.objective


def test_a_few_seconds_prove_something_where_the_covariance_proves_nothing() -> None:
    """More clusters than features: the covariance bound is 0, and pilots of larger parts would take all the time."""
    random = np.random.default_rng(0)
    points = 2 * random.normal(size=(4, 2))[np.arange(3000) % 4] + random.normal(size=(3000, 2))
    result = solve(points, 4, gap=1e-6, time_limit=5.0, n_jobs=2)
    assert 0.3 * result.objective < result.lower_bound <= result.objective


def test_a_wide_gap_takes_a_few_iterations_of_small_parts(tmp_path: Path) -> None:
    """5 % of 3,000 overlapping points: no cuts, no rounds but one for each part, and a certificate as ever."""
    random = np.random.default_rng(0)
    points = 7 * random.random((4, 6))[np.arange(3000) % 4] + random.normal(size=(3000, 6))
    result = solve(points, 4, gap=0.05)
    assert result.status is SolveStatus.OPTIMAL
    assert result.statistics.cuts == 0
    assert result.part_size is not None
    assert result.part_size < 500
    result.save(tmp_path, report=False)
    assert verify(tmp_path, gap=0.05).n_parts == result.parts


def test_one_process_and_two_and_an_executor_prove_the_same() -> None:
    """Parts are a function of seed and data, whoever bounds them."""
    one = solve(blobs(), 4, part_size=60)
    again = solve(blobs(), 4, part_size=60)
    two = solve(blobs(), 4, part_size=60, n_jobs=2)
    with ThreadPoolExecutor(1) as executor:
        elsewhere = solve(blobs(), 4, part_size=60, executor=executor)
    assert again.lower_bound == one.lower_bound
    for other in (two, elsewhere):
        assert other.objective == pytest.approx(one.objective, rel=1e-4)
        assert other.lower_bound == pytest.approx(one.lower_bound, rel=0.02)


def test_what_one_process_proves_does_not_depend_on_the_clock() -> None:
    """What a part may lose depends on those before it: one process hands them out one by one, fast or slow."""
    bounds = set()
    for seconds in (1e-6, 100.0):
        settings = SolverSettings(parts=PartSettings(seconds_per_task=seconds))
        bounds.add(solve(blobs(1200, 1.2), 4, part_size=40, gap=0.03, settings=settings).lower_bound)
    assert len(bounds) == 1


@pytest.mark.parametrize(
    "stated",
    [
        {"size_min": 55, "size_max": 65},
        {"sizes": [40, 60, 60, 80]},
        {"size_max": 340.0, "capacity": [float(1 + i % 9) for i in range(240)]},
    ],
)
def test_limits_on_sizes_are_kept_by_the_clustering_and_not_needed_for_the_bound(
    stated: dict[str, Any], tmp_path: Path
) -> None:
    """Sizes, limits and capacities: a proven bound of parts without them, and it is said that these are left out."""
    result = solve(blobs(), 4, part_size=80, cannot_link=[(0, 4), (1, 5)], **stated)
    assert result.parts == 3
    assert result.clustering is not None
    assert result.clustering.satisfies(result.instance)
    assert "without the limits on sizes" in result.describe_parts()
    assert 0.5 * result.objective < result.lower_bound <= result.objective
    result.save(tmp_path, report=False)
    assert verify(tmp_path, instance=result.instance).lower_bound >= result.lower_bound


def test_a_part_size_that_is_none_is_refused() -> None:
    """Named, with what it may be."""
    for bad in (0, -3, 1.5, "many", True):
        with pytest.raises(InputError, match="part_size must be a positive integer, 'auto' or None"):
            solve(blobs(), 4, part_size=bad)  # type: ignore[arg-type]


def test_a_time_limit_is_kept_with_a_clustering_and_a_bound() -> None:
    """60,000 points in eight seconds."""
    random = np.random.default_rng(0)
    points = 10 * random.random((5, 6))[np.arange(60_000) % 5] + random.normal(size=(60_000, 6))
    result = solve(points, 5, time_limit=8.0, n_jobs=2)
    assert result.seconds < 9.0
    assert result.status in {SolveStatus.TIME_LIMIT, SolveStatus.OPTIMAL}
    assert 0 < result.lower_bound <= result.objective < np.inf


def test_parts_that_nothing_is_known_about_get_the_bound_that_costs_nothing(tmp_path: Path) -> None:
    """Ctrl-C after three of four parts: the fourth counts with its covariance bound, in the certificate too."""
    random = np.random.default_rng(0)
    points = 8 * random.random((3, 6))[np.arange(240) % 3] + random.normal(size=(240, 6))

    sent: list[bool] = []

    def interrupt(progress: Progress) -> None:
        if progress.parts_done == 3 and not sent:
            sent.append(True)  # a second one would act as ever
            os.kill(os.getpid(), signal.SIGINT)

    result = solve(points, 3, part_size=60, callback=interrupt)
    assert result.status is SolveStatus.INTERRUPTED
    assert result.lower_bound > 0.5 * result.objective
    assert result.parts == 4
    result.save(tmp_path, report=False)
    assert verify(tmp_path).lower_bound >= result.lower_bound


def killed_run(folder: Path, n_parts_before: int) -> None:
    """Start a solve in a process of its own, and kill it when so many parts are done."""
    code = f"""
import os, signal
from tests.search.parts.test_run import blobs, links
from certimeans import solve
def kill(progress):
    if progress.parts_done >= {n_parts_before}:
        os.kill(os.getpid(), signal.SIGKILL)
solve(blobs(), 4, **links(), part_size=30, checkpoint={str(folder)!r}, callback=kill)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    ended = subprocess.run([sys.executable, "-c", code], check=False, env=environment, timeout=120)
    assert ended.returncode == -signal.SIGKILL


def resumed(folder: Path, count: list[int], said: list[str] | None = None) -> SolveResult:
    """Go on where a run was killed, and note how many parts were bounded, and what the log says."""

    def look(progress: Progress) -> None:
        count.append(progress.parts_done)
        if said is not None and progress.message:
            said.append(progress.message)

    return solve(blobs(), 4, **links(), part_size=30, checkpoint=folder, callback=look)


def test_a_killed_run_goes_on_with_the_parts_that_were_done(tmp_path: Path) -> None:
    """SIGKILL after five of eight parts: the same bound as without, from three new parts; twice the same."""
    undisturbed = solve(blobs(), 4, **links(), part_size=30)
    killed_run(tmp_path, 5)
    lines = (tmp_path / "parts" / "index.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 5
    count: list[int] = []
    said: list[str] = []
    result = resumed(tmp_path, count, said)
    assert max(count) == 3
    assert said[-1].startswith(f"resumed:  from {tmp_path}, 8 parts (5 proofs to repeat), incumbent ")
    assert result.history[-1].source == "checkpoint"
    assert result.lower_bound == pytest.approx(undisturbed.lower_bound, rel=0.02)
    again = resumed(tmp_path, [])
    assert again.lower_bound == pytest.approx(result.lower_bound, rel=1e-9)
    again.save(tmp_path / "out", report=False)
    assert verify(tmp_path / "out").lower_bound >= again.lower_bound


def test_edited_checkpoints_claim_nothing(tmp_path: Path) -> None:
    """Proofs of other parts, damaged files and lines, another split: bounds stay true, whatever is in the files."""
    killed_run(tmp_path, 5)
    folder = tmp_path / "parts"
    best = solve(blobs(), 4, **links()).objective
    index = folder / "index.jsonl"
    lines = [json.loads(line) for line in index.read_text(encoding="utf-8").splitlines()]
    lines[0]["file"], lines[1]["file"] = lines[1]["file"], lines[0]["file"]
    (folder / lines[2]["file"]).write_bytes(b"damaged")
    lines[3]["parts"] = [3, 4]
    edited = "\n".join(json.dumps(line) for line in lines)
    index.write_text(edited + "\n{broken\n" + json.dumps({"parts": [99], "file": "x", "entries": []}), encoding="utf-8")
    assert resumed(tmp_path, []).lower_bound <= best
    with np.load(folder / "plan.npz") as archive:
        plan = dict(archive)
    plan["points"] = np.sort(plan["points"])
    plan["points"][0] = plan["points"][1]  # a point twice
    np.savez(folder / "plan.npz", **plan)
    with pytest.raises(InputError, match=r"plan.npz: the plan of the parts is damaged; remove .*parts to start anew"):
        resumed(tmp_path, [])
    (folder / "plan.npz").unlink()
    assert resumed(tmp_path, []).lower_bound <= best
    with pytest.raises(InputError, match="belongs to another instance"):
        solve(blobs() + 1, 4, **links(), part_size=30, checkpoint=tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", np.full(240, 4)),
        ("labels", np.full(240, -1)),
        ("labels", np.zeros(240)),
        ("points", np.arange(240.0)),
        ("points", np.arange(240)[:, None]),
        ("shares", np.zeros((8, 0), dtype=np.str_)),
        ("loss", np.zeros(3)),
        ("loss", np.array(np.nan)),
        ("loss", np.array(-1.0)),
        ("start", np.array([0, 0, *range(60, 241, 30)])),
        ("iterations", np.array(np.inf)),
        ("head", np.array("[]")),
    ],
)
def test_a_plan_that_is_none_is_not_used(name: str, value: np.ndarray, tmp_path: Path) -> None:
    """Numbers out of range, arrays of other kinds and shapes: the split is made anew."""
    presolved = presolve(Instance(blobs(), 4))
    store = PartStore(tmp_path, presolved.instance)
    store.prepare()
    store.begin(Plan(split_into_parts(presolved, np.arange(240) % 4, 8), np.arange(240) % 4))
    assert store.load_plan() is not None
    path = tmp_path / "parts" / "plan.npz"
    with np.load(path) as archive:
        plan = dict(archive)
    np.savez(path, **{**plan, name: value})
    assert store.load_plan() is None


def test_one_proof_does_not_count_for_two_parts(tmp_path: Path) -> None:
    """An index that names one file twice: the second part is bounded anew, and the certificate is as good as ever."""
    killed_run(tmp_path, 5)
    index = tmp_path / "parts" / "index.jsonl"
    lines = [json.loads(line) for line in index.read_text(encoding="utf-8").splitlines()]
    lines[0]["entries"] = pack_part(np.arange(1), None, CovarianceStep())[0]  # which needs nothing of the file
    lines[1] = {**lines[0], "parts": lines[1]["parts"]}
    index.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    result = resumed(tmp_path, [])
    result.save(tmp_path / "out", report=False)
    assert verify(tmp_path / "out").lower_bound >= result.lower_bound


def test_a_resumed_run_that_is_to_prove_more_does(tmp_path: Path) -> None:
    """Parts that were bounded for a gap of 40 % are bounded again for one of 0.1 %, from where they were."""
    wide = solve(blobs(), 4, part_size=60, gap=0.4, checkpoint=tmp_path)
    narrow = solve(blobs(), 4, part_size=60, gap=1e-3, checkpoint=tmp_path)
    assert wide.gap > 0.01
    fresh = solve(blobs(), 4, part_size=60, gap=1e-3)
    assert narrow.lower_bound == pytest.approx(fresh.lower_bound, rel=5e-3)  # the split is that of the wider gap


def test_parts_that_were_cut_short_are_bounded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of four parts runs out of time once, in one run and before another resumes it: the bound is as without."""
    undisturbed = solve(blobs(), 4, part_size=60)
    hurried: list[IntArray] = []

    def in_a_hurry(part: Part, effort: Effort, **given: Any) -> PartBound:
        if any(np.array_equal(part.members, members) for members in hurried):
            return bound_part(part, effort, **given)
        hurried.append(part.members)
        return bound_part(part, effort, **{**given, "deadline": Deadline(0.0)})

    def stop(progress: Progress) -> None:
        if progress.parts_done == 4 and not sent:
            sent.append(True)  # a second one would act as ever
            os.kill(os.getpid(), signal.SIGINT)

    sent: list[bool] = []
    monkeypatch.setattr("certimeans.search.parts.tasks.bound_part", in_a_hurry)
    assert solve(blobs(), 4, part_size=60).lower_bound == pytest.approx(undisturbed.lower_bound, rel=1e-3)
    hurried.clear()
    stopped = solve(blobs(), 4, part_size=60, checkpoint=tmp_path, callback=stop)
    assert stopped.lower_bound < 0.99 * undisturbed.lower_bound
    again = solve(blobs(), 4, part_size=60, checkpoint=tmp_path)
    assert again.lower_bound == pytest.approx(undisturbed.lower_bound, rel=1e-3)


def test_a_plan_without_proofs_does_not_bind_a_run_that_chooses_sizes_itself(tmp_path: Path) -> None:
    """Killed before the first part was done: parts of another size may suit the time and the gap of today."""
    presolved = presolve(Instance(blobs(), 4))
    store = PartStore(tmp_path, presolved.instance)
    store.prepare()
    store.begin(Plan(split_into_parts(presolved, np.arange(240) % 4, 40), np.arange(240) % 4))
    settings = SolverSettings(parts=PartSettings(largest_whole=200))
    solve(blobs(), 4, gap=0.01, checkpoint=tmp_path, settings=settings)
    plan = store.load_plan()
    assert plan is not None
    assert plan.split.n_parts < 40


def test_a_resumed_run_begins_with_small_parts_as_the_first_one_did(tmp_path: Path) -> None:
    """One of six parts is stored: what the small ones prove counts until the large ones prove more, and is verified."""
    points = blobs(1200, 1.2)
    presolved, labels = presolve(Instance(points, 4)), np.arange(1200) % 4
    store = PartStore(tmp_path, presolved.instance)
    store.prepare()
    split = split_into_parts(presolved, labels, 6)
    store.begin(Plan(split, labels))
    part = make_part(presolved, split, labels, (0,))
    (outcome,) = perform_parts(PartTask(((0,),), (part,), Effort(1e-3, 4)))
    store.save(outcome)
    sent: list[bool] = []

    def interrupt(progress: Progress) -> None:
        if progress.parts == 5 and progress.parts_done > 0 and not sent:
            sent.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    settings = SolverSettings(parts=PartSettings(largest_whole=1000))
    result = solve(points, 4, gap=1e-6, checkpoint=tmp_path, callback=interrupt, settings=settings)
    assert sent
    assert result.lower_bound > 0.6 * result.objective
    result.save(tmp_path / "out", report=False)
    assert verify(tmp_path / "out").lower_bound >= result.lower_bound


def test_a_task_carries_its_own_points_and_nothing_else() -> None:
    """Ten times as many points in all do not make a task larger, nor does what was computed of the part."""
    sizes = []
    for n in (400, 4000):
        presolved = presolve(Instance.create(blobs(n), 4))
        labels = np.arange(n) % 4
        part = make_part(presolved, split_into_parts(presolved, labels, n // 100), labels, (0,))
        task = PartTask(((0,),), (part,), Effort(1e-3, 4))
        sizes.append(len(pickle.dumps(task)))
        assert part.super_points.gram.shape == (part.size, part.size)
        assert len(pickle.dumps(task)) == sizes[-1]
        (outcome,) = perform_parts(pickle.loads(pickle.dumps(task)))  # noqa: S301  # our own
        assert 0 < outcome.value <= outcome.cost * (1 + 1e-9)
    assert abs(sizes[1] - sizes[0]) < 500


# A killed worker cannot clean up after itself, and loky's finalizers complain about that.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_killed_process_costs_only_its_parts() -> None:
    """SIGKILL for a local worker: a new pool bounds what is left."""
    killed: list[int] = []

    def kill_one(progress: Progress) -> None:
        if progress.parts_done >= 2 and not killed and worker_pids():
            killed.append(worker_pids()[0])
            os.kill(killed[-1], signal.SIGKILL)

    undisturbed = solve(blobs(1600), 4, part_size=80)
    result = solve(blobs(1600), 4, part_size=80, n_jobs=2, callback=kill_one)
    assert killed
    assert "given up" not in result.message
    assert result.lower_bound == pytest.approx(undisturbed.lower_bound, rel=0.01)
    for _ in range(100):  # processes that were about to start are ended once they have
        if not worker_pids():
            break
        time.sleep(0.1)
    assert worker_pids() == []


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a scheduler and two workers."""
    cluster = Cluster(tmp_path_factory.mktemp("dask"))
    yield cluster
    cluster.close()


def peak_megabytes(pid: int) -> float:
    """Return the most memory that a process ever had."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory of other processes is read from /proc")
@pytest.mark.filterwarnings("ignore")  # Dask's own, on Python's and on its settings
def test_no_worker_of_a_cluster_holds_the_whole(cluster: Cluster) -> None:
    """300,000 points of 40 features have 92 MB, each part 0.1 MB: workers need no more than for 3,000 points."""
    client = connect(cluster.address())
    client.wait_for_workers(2, timeout=60)
    random = np.random.default_rng(0)
    points = random.normal(size=(300_000, 40)) + 8.0 * (np.arange(300_000) % 2)[:, None]
    peaks = []
    for n in (3_000, 300_000):
        result = solve(points[:n], 2, part_size=300, time_limit=6.0, executor=client)
        assert result.lower_bound > 0
        peaks.append([peak_megabytes(process.pid) for process in cluster.workers])
    client.close()
    assert max(after - before for before, after in zip(*peaks, strict=True)) < 45.0


@pytest.mark.filterwarnings("ignore")  # Dask's own, on Python's and on its settings
def test_a_killed_worker_of_a_cluster_costs_only_its_parts(cluster: Cluster) -> None:
    """SIGKILL for one of two workers in the middle of a run by parts: all parts are bounded in the end."""
    client = connect(cluster.address())
    client.wait_for_workers(2, timeout=60)
    undisturbed = solve(blobs(), 4, part_size=20)

    def kill_one(progress: Progress) -> None:
        if progress.parts_done >= 3 and len(cluster.workers) == 2:
            os.kill(cluster.workers.pop().pid, signal.SIGKILL)

    result = solve(blobs(), 4, part_size=20, executor=client, callback=kill_one)
    client.close()
    assert len(cluster.workers) == 1
    assert result.parts == 12
    assert "given up" not in result.message
    assert result.lower_bound == pytest.approx(undisturbed.lower_bound, rel=0.02)


ONE_PART_PER_TASK = SolverSettings(parts=PartSettings(seconds_per_task=1e-9))


@pytest.mark.filterwarnings("ignore")  # Dask's own, on Python's and on its settings
def test_a_template_is_sent_to_a_cluster_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that leave this process: less than half of those with Dask's executor, where it travels with each task."""
    from distributed.comm.tcp import TCP  # noqa: PLC0415  # an extra

    client = connect(cluster.address())
    client.wait_for_workers(1, timeout=60)
    sent, write = [0], TCP.write

    async def weigh(*arguments: Any, **options: Any) -> int:
        count: int = await write(*arguments, **options)
        sent[0] += count
        return count

    monkeypatch.setattr(TCP, "write", weigh)
    counts, bounds = [], []
    for executor in (client, client.get_executor(pure=False)):
        sent[0] = 0
        result = solve(blobs(1500, 1.2), 4, part_size=60, executor=executor, settings=ONE_PART_PER_TASK)
        counts.append(sent[0])
        bounds.append(result.lower_bound)
    client.close()
    assert bounds[0] == pytest.approx(bounds[1], rel=0.01)
    assert 0 < 2 * counts[0] < counts[1]


@pytest.mark.filterwarnings("ignore")  # Dask's own, on Python's and on its settings
def test_a_template_that_died_with_all_workers_is_sent_again(tmp_path: Path) -> None:
    """SIGKILL for every worker that holds it, and a new worker: all parts are bounded in the end."""
    cluster = Cluster(tmp_path)
    client = connect(cluster.address())
    client.wait_for_workers(2, timeout=60)
    first = list(cluster.workers)

    def kill_all(progress: Progress) -> None:
        if progress.parts_done >= 6 and cluster.workers == first:
            for process in first:
                os.kill(process.pid, signal.SIGKILL)
            cluster.add_worker()

    try:
        result = solve(blobs(900, 1.2), 4, part_size=60, executor=client, callback=kill_all, settings=ONE_PART_PER_TASK)
        client.close()
    finally:
        cluster.close()
    assert len(cluster.workers) == 3
    assert result.parts == 15
    assert "given up" not in result.message
    assert result.lower_bound > 0.9 * result.objective


def test_a_run_that_was_short_of_time_goes_on_as_it_began(tmp_path: Path) -> None:
    """The plan on disk says how many iterations each part has; one that says nonsense is not used."""
    presolved = presolve(Instance(blobs(), 4))
    labels = np.arange(240) % 4
    split = split_into_parts(presolved, labels, 6)
    for iterations, expected in ((3, 3), (None, None), (10**6, None)):
        store = PartStore(tmp_path, presolved.instance)
        store.prepare()
        store.begin(Plan(split, labels, iterations))
        plan = store.load_plan()
        assert (None if plan is None else plan.iterations) == expected
        assert (plan is None) == (iterations == 10**6)

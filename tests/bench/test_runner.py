from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from certimeans.bench import runner
from certimeans.bench.rows import ResultsFile, Row, Settings
from certimeans.bench.runner import Run
from certimeans.bench.suite import Case, find_cases
from certimeans.errors import InputError
from certimeans.problem.instance import Instance
from certimeans.result import SolveResult
from certimeans.solver import solve_instance
from tests.bench.folders import make_folder

PUBLISHED = "dataset,ml,cl,seed,size,f,gap0,nodes,time\nline,0,1,0,6,4.0,0.1,3,7\nline,1,0,0,5,60.0,0.1,1,8\n"


def run(cases: list[Case], folder: Path, settings: Settings | None = None) -> list[str]:
    """Solve what is missing; return the names of what was solved."""
    solved: list[str] = []
    bench = Run(cases, settings or Settings(), folder)
    assert bench.execute(lambda row: solved.append(row.name))
    return solved


def test_rows_hold_results_and_comparison(tmp_path: Path) -> None:
    """Costs are those computed by hand; a published value below the optimum is found out."""
    cases = find_cases(make_folder(tmp_path / "data", published=PUBLISHED), ["line"])
    assert run(cases, tmp_path / "out") == ["line 0 1 0", "line 1 0 0"]
    first, second = ResultsFile(tmp_path / "out" / "results.csv").read()
    assert (first.status, first.objective, first.size, first.n, first.d, first.k) == ("optimal", 4.0, 6, 6, 1, 2)
    assert (first.verdict, first.published_nodes, first.published_time) == ("equal", 3, 7)
    assert first.speed_up == pytest.approx(7 / first.time, rel=0.05)  # the time is stored rounded
    assert second.objective == pytest.approx(63.25)
    assert (second.verdict, second.size) == ("not comparable", 5)
    assert "below the proven bound" in second.why_not_comparable
    assert first.peak_memory > 50


def test_only_missing_rows_are_solved_again(tmp_path: Path) -> None:
    """A row that a kill cut off is solved again, others are kept as they are; other settings start anew."""
    cases = find_cases(make_folder(tmp_path / "data"))
    path = tmp_path / "out" / "results.csv"
    assert len(run(cases[:2], tmp_path / "out")) == 2
    before = path.read_text(encoding="utf-8")
    path.write_text(before[:-30], encoding="utf-8")
    assert run(cases, tmp_path / "out") == ["line 1 0 0", "shifted 0 1 0", "shifted 1 0 0"]
    after = path.read_text(encoding="utf-8").splitlines()
    assert after[:2] == before.splitlines()[:2]
    assert len(after) == 5
    assert run(cases, tmp_path / "out") == []
    assert run(cases[:1], tmp_path / "out", Settings(gap=0.5)) == ["line 0 1 0"]
    assert len(Run(cases, Settings(), tmp_path / "out").done()) == 4


def test_changed_data_are_solved_again(tmp_path: Path) -> None:
    """The fingerprint of the instance tells."""
    data = make_folder(tmp_path / "data")
    assert len(run(find_cases(data, ["line"]), tmp_path / "out")) == 2
    (data / "constraints" / "line" / "ml_0_cl_1_0.txt").write_text("CL 0 5\n", encoding="utf-8")
    assert run(find_cases(data, ["line"]), tmp_path / "out") == ["line 0 1 0"]
    assert len(ResultsFile(tmp_path / "out" / "results.csv").read()) == 2


def test_a_parallel_run_gives_the_same_values(tmp_path: Path) -> None:
    """Two processes side by side, and an instance that cannot be read among them."""
    data = make_folder(tmp_path / "data")
    (data / "constraints" / "line" / "ml_9_cl_0_0.txt").write_text("ML 2 99\n", encoding="utf-8")
    (data / "constraints" / "line" / "ml_3_cl_1_0.txt").write_text("ML 0 1\nCL 0 1\n", encoding="utf-8")
    settings = Settings(parallel=2)
    assert len(run(find_cases(data), tmp_path / "out", settings)) == 6
    rows = {row.name: row for row in ResultsFile(tmp_path / "out" / "results.csv").read()}
    assert rows["shifted 1 0 0"].objective == pytest.approx(63.25)
    assert rows["line 0 1 0"].objective == pytest.approx(4.0)
    assert rows["line 3 1 0"].status == "infeasible"
    assert (rows["line 9 0 0"].status, "99" in rows["line 9 0 0"].message) == ("error", True)
    assert [case.name for case in Run(find_cases(data), settings, tmp_path / "out").missing()] == ["line 9 0 0"]


def test_a_worker_that_dies_costs_its_instances_only(tmp_path: Path) -> None:
    """One instance kills its process; those beside it fail with it or not, the rest are solved by new processes."""
    good = find_cases(make_folder(tmp_path / "data"))
    deadly = Case("deadly", 0, 0, 0, Deadly())
    settings = Settings(parallel=2)
    rows: list[Row] = []
    assert Run([deadly, *good], settings, tmp_path / "out").execute(rows.append)
    assert len(rows) == 5
    failed = {row.name: row.message for row in rows if row.status == "error"}
    assert "a process died" in failed["deadly 0 0 0"]
    assert len(failed) <= 2


@pytest.mark.parametrize(("message", "told"), [("", "out of memory"), ("no room", "no room")])
def test_an_instance_without_memory_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str, told: str
) -> None:
    """Whether reading or solving takes too much: the others are solved."""
    cases = find_cases(make_folder(tmp_path / "data"), ["line"])
    monkeypatch.setattr(Huge, "message", message)
    runner.warm_up()
    solve = solve_instance

    def solved(instance: Instance, *arguments: object, **options: object) -> SolveResult:
        if instance is cases[0].instance:
            raise MemoryError(message)
        return solve(instance, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "solve_instance", solved)
    bench = Run([Case("huge", 0, 0, 0, Huge()), *cases], Settings(), tmp_path)
    assert bench.execute(lambda _: None)
    assert [(row.status, row.message) for row in bench.rows()] == [("error", told), ("error", told), ("optimal", "")]


class Huge:
    """An instance that does not fit into memory."""

    message = ""

    def load(self) -> Instance:
        """Give up."""
        raise MemoryError(self.message)


class Deadly:
    """An instance whose loading kills the process."""

    def load(self) -> Instance:
        """Die as if for lack of memory."""
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """After kill -9 in the middle, the command solves exactly what is missing."""
    data, out = make_folder(tmp_path / "data"), tmp_path / "out"
    points = "\n".join(f"{i * 7919 % 101} {i * 104729 % 97}" for i in range(300))
    (data / "datasets" / "shifted.txt").write_text("300 2 9\n" + points, encoding="utf-8")  # hard enough to be caught
    command = [sys.executable, "-m", "certimeans", "bench", str(data), "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    results = ResultsFile(out / "results.csv")
    for _ in range(2000):
        if len(results.read()) == 2 or process.poll() is not None:
            break
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert [row.dataset for row in results.read()] == ["line", "line"]
    make_folder(tmp_path / "easy")
    (data / "datasets" / "shifted.txt").write_text(
        (tmp_path / "easy" / "datasets" / "shifted.txt").read_text(encoding="utf-8"), encoding="utf-8"
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "2 of 4 instances are in" in done.stderr
    assert "line" not in done.stderr.split("warming up")[1]
    assert len(results.read()) == 4


def test_ctrl_c_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt during the second instance: the first is on disk, the second is not, and the run says so."""
    cases = find_cases(make_folder(tmp_path / "data"))
    solve = solve_instance

    def interrupted(*arguments: object, **options: object) -> SolveResult:
        if ResultsFile(tmp_path / "results.csv").read():
            signal.raise_signal(signal.SIGINT)
        return solve(*arguments, **options)  # type: ignore[arg-type]

    runner.warm_up()
    monkeypatch.setattr(runner, "solve_instance", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    try:
        assert not Run(cases, Settings(), tmp_path).execute(lambda _: None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert [row.name for row in ResultsFile(tmp_path / "results.csv").read()] == ["line 0 1 0"]


def test_certificates_are_checked_and_rows_without_check_solved_again(tmp_path: Path) -> None:
    """The verifier sees each result and a folder of its own; its verdict is in the row."""
    cases = find_cases(make_folder(tmp_path / "data"), ["line"])
    folders = []

    def verifier(result: SolveResult, folder: Path) -> str:
        folders.append(folder)
        return "yes" if result.objective < 10 else "NO: too costly"

    assert len(run(cases, tmp_path)) == 2
    rows: list[Row] = []
    assert Run(cases, Settings(), tmp_path, verifier).execute(rows.append)
    assert [row.verified for row in rows] == ["yes", "NO: too costly"]
    assert folders == [tmp_path / "certificates" / "line_0_1_0", tmp_path / "certificates" / "line_1_0_0"]
    assert [case.name for case in Run(cases, Settings(), tmp_path, verifier).missing()] == ["line 1 0 0"]


def test_foreign_files_and_bad_settings_are_refused(tmp_path: Path) -> None:
    """A results.csv of something else is not overwritten."""
    (tmp_path / "results.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="not results of this version"):
        ResultsFile(tmp_path / "results.csv").read()
    with pytest.raises(InputError, match="parallel must be at least 1; got 0"):
        Settings(parallel=0)

"""The first run on a machine: who compiles, who waits, and what is said."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from certimeans.cli import main
from certimeans.compilation import storage
from certimeans.compilation.preparation import NOTE, WAITING, Preparation
from tests.compilation.processes import run_python, start_python


def test_each_part_is_run_once_for_all_processes(tmp_path: Path) -> None:
    """The first process says that it takes a while, once; later ones find its mark, and are quick to."""
    code = """
        import time
        from certimeans.compilation.preparation import Preparation
        preparation = Preparation()
        parts = {"a": lambda: print("a"), "b": lambda: print("b")}
        print(preparation.run({"a": parts["a"]}), preparation.run(parts), preparation.run(parts))
    """
    first, second = (run_python(code, CERTIMEANS_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout.split() == ["a", "b", "True", "True", "False"]
    assert first.stderr.splitlines() == [NOTE]
    assert (second.stdout.split(), second.stderr) == (["False", "False", "False"], "")


def test_looking_whether_all_is_prepared_takes_no_time(isolated: Path) -> None:
    """Less than a millisecond, also where the mark was left by another process."""
    Preparation().run({"part": int}, tell=str)
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        assert not Preparation().run({"part": int})
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 1e-3
    assert (isolated / "state").exists()


def test_a_part_that_fails_is_run_again(isolated: Path) -> None:
    """Nothing is marked as done that was not; an interrupted first run leaves no trace."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    preparation = Preparation()
    with pytest.raises(KeyboardInterrupt):
        preparation.run({"part": interrupt}, tell=str)
    assert not list(isolated.rglob("ready-*"))
    assert preparation.run({"part": int}, tell=str)


@pytest.mark.usefixtures("isolated")
def test_a_part_may_call_what_prepares() -> None:
    """As the warm-up does: it solves, and solving prepares."""
    preparation = Preparation()
    inner = []
    assert preparation.run({"part": lambda: inner.append(preparation.run({"other": int}))}, tell=str)
    assert inner == [False]


@pytest.mark.usefixtures("isolated")
def test_two_threads_prepare_once() -> None:
    """The second waits for the first."""
    preparation = Preparation()
    runs: list[int] = []

    def part() -> None:
        time.sleep(0.05)
        runs.append(1)

    threads = [threading.Thread(target=lambda: preparation.run({"part": part}, tell=str)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runs == [1]


def test_without_a_place_each_process_prepares_in_memory(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Python users are told through the logger, whose warnings Python prints unless told otherwise."""
    for name in ("folder", "state_folder"):
        monkeypatch.setattr(f"certimeans.compilation.preparation.{name}", _NOWHERE[name])
    preparation = Preparation()
    with caplog.at_level(logging.WARNING, "certimeans"):
        assert preparation.run({"part": int})
        assert not preparation.run({"part": int})
    assert [record.getMessage() for record in caplog.records] == ["nowhere", NOTE]


@pytest.mark.usefixtures("isolated")
@pytest.mark.parametrize(("options", "notes"), [((), 1), (("--quiet",), 0)])
def test_the_command_line_says_it_once(
    options: tuple[str, ...],
    notes: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not again from inside the solve, and not at all where nobody wants to hear."""
    monkeypatch.setattr("certimeans.warmup._PREPARATION", Preparation())
    monkeypatch.setattr("certimeans.warmup._parts_for", lambda _: {"part": int})
    (tmp_path / "points.csv").write_text("0\n1\n5\n6\n")
    assert main(["solve", str(tmp_path / "points.csv"), "-k", "2", *options]) == 0
    assert capsys.readouterr().err.count(NOTE) == notes
    assert caplog.records == []


@pytest.mark.usefixtures("isolated")
def test_the_warm_up_command_says_where_and_how_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second time there is nothing to do."""
    monkeypatch.setattr("certimeans.warmup._PREPARATION", Preparation())
    monkeypatch.setattr("certimeans.warmup.ALL_PARTS", {"part": int})
    state = str(storage.state_folder())
    assert main(["warmup"]) == 0
    printed = capsys.readouterr()
    assert printed.err == f"note: {NOTE}\n"
    assert printed.out.startswith("compiled in 0.0 s; ")
    assert state in printed.out
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out == f"all was compiled before; the machine code is in {state}\n"


def test_half_of_the_parts_are_left_to_a_helper(isolated: Path) -> None:
    """Of their time; what a helper leaves undone, because it died, is run here after all."""
    asked: list[list[str]] = []
    run: list[str] = []

    def start(code: str) -> Callable[[Sequence[str]], subprocess.Popen[bytes]]:
        def helper(names: Sequence[str]) -> subprocess.Popen[bytes]:
            asked.append(list(names))
            return subprocess.Popen(
                [sys.executable, "-c", code.format(isolated / "state" / f"ready-{storage.machine()}")]
            )

        return helper

    parts = {name: partial(run.append, name) for name in ("a", "b", "c", "d")}
    dies = Preparation(start("raise SystemExit(1)"))
    assert dies.run(parts, tell=str)
    assert (asked, run) == ([["b", "d"]], ["a", "c", "b", "d"])
    for marker in isolated.rglob("ready-*"):
        marker.unlink()
    works = Preparation(start("for name in 'bd': open('{}-' + name, 'w').close()"))
    assert works.run(parts, tell=str)
    assert run[4:] == ["a", "c"]
    assert not works.run(parts, tell=str)


def test_both_processes_end_at_about_the_same_time() -> None:
    """The longest part stays here, where nothing has to be started first."""
    preparation = Preparation(None, {"long": 10.0, "half": 6.0, "less": 4.0, "short": 0.5})
    assert preparation._half(["less", "half", "long", "short"]) == ["half", "less"]
    assert preparation._half(["less", "half"]) == ["less"]
    assert preparation._half(["long"]) == []


def test_a_helper_ends_with_whoever_started_it(isolated: Path) -> None:
    """Ctrl-C leaves no process behind."""
    processes = []

    def helper(_: Sequence[str]) -> subprocess.Popen[bytes]:
        processes.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
        return processes[0]

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Preparation(helper).run({"a": interrupt, "b": int}, tell=str)
    assert processes[0].poll() is not None
    assert not list(isolated.rglob("ready-*"))


_NOWHERE: dict[str, Callable[[], Any]] = {
    "folder": lambda: SimpleNamespace(path=None, is_writable=False, remark="nowhere"),
    "state_folder": lambda: None,
}


_SLOW = """
    import sys, time
    from certimeans.compilation.preparation import Preparation
    def part():
        print("begun", flush=True)
        time.sleep(float(sys.argv[1]))
    print(Preparation().run({"part": part}))
"""


def test_two_first_runs_at_once_compile_once(tmp_path: Path) -> None:
    """The second says that it waits, and then finds all done."""
    with start_python(_SLOW, "5", CERTIMEANS_CACHE_DIR=str(tmp_path)) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "begun\n"
        second = run_python(_SLOW, "0", CERTIMEANS_CACHE_DIR=str(tmp_path))
        assert first.wait() == 0
    assert second.stdout.split() == ["False"]
    assert second.stderr.splitlines() == [WAITING]


def test_a_child_that_outlives_its_run_does_not_keep_the_turn(tmp_path: Path) -> None:
    """A fork inherits open files, but not the turn to compile."""
    forks = _SLOW.replace("def part():", "def part():\n        import os\n        child = os.fork()")
    forks = forks.replace('print("begun", flush=True)', 'print("begun", child, flush=True) if child else None')
    with start_python(forks, "60", CERTIMEANS_CACHE_DIR=str(tmp_path)) as first:
        assert first.stdout is not None
        child = int(first.stdout.readline().split()[1])
        try:
            first.send_signal(signal.SIGKILL)
            second = run_python(_SLOW, "0", CERTIMEANS_CACHE_DIR=str(tmp_path))
        finally:
            os.kill(child, signal.SIGKILL)
    assert second.stdout.split() == ["begun", "True"]


def test_nobody_waits_for_long(tmp_path: Path) -> None:
    """A run that compiles for longer than that is not waited for: both compile."""
    impatient = _SLOW.replace(
        "def part", "import certimeans.compilation.preparation as it\n    it._SECONDS_TO_WAIT = 0.3\n    def part"
    )
    with start_python(_SLOW, "60", CERTIMEANS_CACHE_DIR=str(tmp_path)) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "begun\n"
        second = run_python(impatient, "0", CERTIMEANS_CACHE_DIR=str(tmp_path))
        first.kill()
    assert second.stdout.split() == ["begun", "True"]
    assert second.stderr.splitlines() == [WAITING, NOTE]


def test_a_first_run_that_dies_leaves_the_turn_to_the_next(tmp_path: Path) -> None:
    """At once, without a time limit: the system knows that the process is gone."""
    with start_python(_SLOW, "60", CERTIMEANS_CACHE_DIR=str(tmp_path)) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "begun\n"
        with start_python(_SLOW, "0", CERTIMEANS_CACHE_DIR=str(tmp_path)) as second:
            assert second.stderr is not None
            assert second.stderr.readline().strip() == WAITING
            first.send_signal(signal.SIGKILL)
            output, errors = second.communicate(timeout=20)
    assert output.split() == ["begun", "True"]
    assert errors.splitlines() == [NOTE]

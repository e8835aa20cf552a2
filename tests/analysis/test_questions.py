"""Questions that are answered by several processes: within the time, and whatever happens to the processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from certimeans import solve
from certimeans.analysis.questions import Answer, Change, Interval, Link, Questions
from certimeans.deadline import Deadline
from certimeans.result import SolveResult

LINE = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
LINKS: list[Link] = [("must-link", 0, 1), ("must-link", 2, 3), ("must-link", 4, 5), ("cannot-link", 0, 5)]
CHANGES = [Change.flip(link) for link in LINKS]
POOL = "certimeans.analysis.questions.make_process_pool"


@pytest.fixture(scope="module")
def solved() -> SolveResult:
    """Solve a problem with four constraints, once."""
    return solve(LINE, 2, must_link=[(0, 1), (2, 3), (4, 5)], cannot_link=[(0, 5)])


class OneThread(ThreadPoolExecutor):
    """A pool that answers one question at a time, and dies after so many of them."""

    def __init__(self, lives: float) -> None:
        super().__init__(1)
        self._lives = lives

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:  # type: ignore[override]
        """Break the future after the last one, and raise from then on."""
        self._lives -= 1
        if self._lives < -1:
            raise BrokenExecutor
        return super().submit(function if self._lives >= 0 else fail, *arguments)

    def shutdown(self, wait: bool = True, **_: Any) -> None:
        """Take what loky's pools take."""
        super().shutdown(wait, cancel_futures=True)


def fail(*_: object) -> None:
    raise BrokenExecutor


def kill_own_process(*_: object) -> None:
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def costs(answers: list[Answer]) -> list[Interval]:
    return [answer.cost for answer in answers]


def test_questions_that_wait_do_not_get_more_time(solved: SolveResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes all the time that it is given, but the limit is for all of them together."""

    def use_all_time(*_: object, deadline: Deadline) -> Answer:
        time.sleep(deadline.remaining())
        return Answer(Interval(0.0, 1.0))

    monkeypatch.setattr("certimeans.analysis.questions.enclose", use_all_time)
    monkeypatch.setattr("certimeans.analysis.questions.bound_once_more", lambda *_: None)
    monkeypatch.setattr(POOL, lambda _: OneThread(9))
    began = time.monotonic()
    assert len(Questions(solved, time_limit=0.5, n_jobs=2).ask(CHANGES)) == 4
    assert time.monotonic() - began < 1.0


@pytest.mark.parametrize("lives", [0, 2])
def test_what_a_broken_pool_did_not_answer_is_answered_here(
    solved: SolveResult, monkeypatch: pytest.MonkeyPatch, lives: int
) -> None:
    """Answers that were there before are kept; nothing counts as interrupted."""
    alone = Questions(solved).ask(CHANGES)
    monkeypatch.setattr(POOL, lambda _: OneThread(lives))
    answers = Questions(solved, n_jobs=2).ask(CHANGES)
    assert costs(answers) == costs(alone)
    assert not any(answer.was_stopped for answer in answers)


def test_processes_that_are_killed_cost_no_answer(solved: SolveResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by the system when memory ends."""
    alone = Questions(solved).ask(CHANGES)
    monkeypatch.setattr("certimeans.analysis.questions._enclose_until", kill_own_process)
    assert costs(Questions(solved, n_jobs=2).ask(CHANGES)) == costs(alone)


def test_without_processes_questions_are_answered_here(solved: SolveResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may refuse to start them."""

    def refuse(_: int) -> None:
        raise OSError("no more processes")

    alone = Questions(solved).ask(CHANGES)
    monkeypatch.setattr(POOL, refuse)
    assert costs(Questions(solved, n_jobs=2).ask(CHANGES)) == costs(alone)


def test_a_second_process_that_cannot_be_started_leaves_none_behind() -> None:
    """Python would wait for the first one at its end."""
    code = f"""
import time
import joblib.externals.loky.backend.process as loky
from certimeans import solve
from certimeans.analysis.questions import Change, Questions
start, started = loky.LokyProcess.start, []
def start_one(process):
    if started:
        time.sleep(1)
        raise BlockingIOError(11, "Resource temporarily unavailable")
    started.append(process)
    start(process)
loky.LokyProcess.start = start_one
solved = solve({LINE}, 2, must_link=[(0, 1), (2, 3), (4, 5)], cannot_link=[(0, 5)])
answers = Questions(solved, n_jobs=2).ask([Change.flip(link) for link in {LINKS}])
print(len(started), len(answers))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "1 4\n", done.stderr

"""Hand parts to workers, take their outcomes, and try those again whose workers died."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait

from certimeans.search.parts.tasks import Key, PartOutcome, PartTask
from certimeans.search.parts.workers import Outcomes, PartWorkers
from certimeans.search.recovery import Recovery

TaskMaker = Callable[[tuple[Key, ...], Collection[PartTask]], PartTask]
"""Makes a task of some parts, while others are running."""

_POLL_SECONDS = 0.1
_GRACE_SECONDS = 0.3
"""How long tasks that were told to stop may take to return their bounds."""


class Dispatcher:
    """Keeps workers busy.

    Parameters
    ----------
    take
        Told about each outcome.
    must_stop
        Asked again and again.

    Attributes
    ----------
    given_up
        Parts whose workers died too often; nothing new is known about them.
    """

    def __init__(
        self, workers: PartWorkers, take: Callable[[PartOutcome], None], must_stop: Callable[[], bool]
    ) -> None:
        self._workers = workers
        self._take = take
        self._must_stop = must_stop
        self._recovery = Recovery()
        self._alone: set[Key] = set()  # were lost with others: handed out one at a time
        self.given_up: list[Key] = []

    def run(
        self,
        keys: Iterable[Key],
        make_task: TaskMaker,
        batch: Callable[[], int],
        at_a_time: Callable[[], int] | None = None,
    ) -> bool:
        """Have all parts done; say whether it was not stopped before.

        Parameters
        ----------
        make_task
            Makes a task of some parts when it is due; it is told which tasks are running.
        batch
            How many parts a task should have now.
        at_a_time
            How many tasks should be handed over now; by default half as many again as there are workers.
        """
        ahead = at_a_time or (lambda: self._workers.capacity + self._workers.capacity // 2)
        waiting = deque(keys)
        running: dict[Outcomes, PartTask] = {}
        while waiting or running:
            if self._must_stop():
                self._wind_down(running)
                return False
            self._workers.look()
            self._fill(waiting, running, make_task, batch, ahead)
            self._collect(waiting, running, _POLL_SECONDS)
        return True

    def _fill(
        self,
        waiting: deque[Key],
        running: dict[Outcomes, PartTask],
        make_task: TaskMaker,
        batch: Callable[[], int],
        at_a_time: Callable[[], int],
    ) -> None:
        while waiting and len(running) < at_a_time():
            others = [key[0] for task in running.values() for key in task.keys]
            if self._recovery.must_wait(waiting[0][0], others):
                return
            chosen = [waiting.popleft()]
            while waiting and len(chosen) < batch() and chosen[0] not in self._alone and waiting[0] not in self._alone:
                chosen.append(waiting.popleft())
            task = make_task(tuple(chosen), running.values())
            try:
                running[self._workers.submit(task)] = task
            except BrokenExecutor:
                self._recover([task], waiting, running)
                return

    def _collect(self, waiting: deque[Key], running: dict[Outcomes, PartTask], seconds: float) -> None:
        lost, may_be_the_cause = self._take_what_is_done(running, seconds)
        if lost:
            self._recover(lost, waiting, running, may_be_the_cause=may_be_the_cause)

    def _take_what_is_done(self, running: dict[Outcomes, PartTask], seconds: float) -> tuple[list[PartTask], bool]:
        """Return the tasks whose workers failed, and whether one of them may have been the cause."""
        done, _ = wait(running, timeout=seconds, return_when=FIRST_COMPLETED)
        lost: list[PartTask] = []
        may_be_the_cause = False
        for future in done:
            task = running.pop(future)
            try:
                outcomes = future.result()
            except self._workers.failures as error:
                lost.append(task)
                may_be_the_cause |= not isinstance(error, self._workers.failures_elsewhere)
            else:
                for outcome in outcomes:
                    self._take(outcome)
        return lost, may_be_the_cause

    def _recover(
        self,
        lost: list[PartTask],
        waiting: deque[Key],
        running: dict[Outcomes, PartTask],
        *,
        may_be_the_cause: bool = True,
    ) -> None:
        """Queue the parts again whose workers failed, but for those that were lost too often."""
        if self._workers.renew():
            lost += running.values()
            running.clear()
        keys = {key[0]: key for task in lost for key in task.keys}
        verdict = self._recovery.requeue_lost(list(keys), may_be_the_cause=may_be_the_cause)
        self._alone.update(keys.values())
        waiting.extendleft(keys[number] for number in verdict.requeue)
        self.given_up += [keys[number] for number in verdict.give_up]

    def _wind_down(self, running: dict[Outcomes, PartTask]) -> None:
        """Wait a moment for what is about to end; the rest is left behind."""
        end = time.monotonic() + _GRACE_SECONDS
        while running and (left := end - time.monotonic()) > 0:
            self._take_what_is_done(running, left)
        for future in running:
            future.cancel()

"""Parts and their workers: what happens to those that are lost."""

from concurrent.futures import BrokenExecutor, Future

from certimeans.bounds.parts.bounding import Effort
from certimeans.search.parts.dispatch import Dispatcher
from certimeans.search.parts.tasks import PartOutcome, PartTask
from certimeans.search.parts.workers import ThreadWorker

TASK = PartTask(((0,),), (), Effort(gap=1e-4, searches=0))


class FailingWorkers(ThreadWorker):
    """One worker that dies of every task; knows of which, and how often it was replaced."""

    def __init__(self) -> None:
        self.n_renewed = 0
        self.tried: list[PartTask] = []

    def submit(self, task: PartTask) -> Future[list[PartOutcome]]:
        """Fail."""
        self.tried.append(task)
        future: Future[list[PartOutcome]] = Future()
        future.set_exception(BrokenExecutor("killed"))
        return future

    def renew(self) -> bool:
        """Count."""
        self.n_renewed += 1
        return False


def test_a_part_whose_workers_always_die_is_given_up() -> None:
    """It is tried a few times, each with new workers, and then nothing new is known about it."""
    workers = FailingWorkers()
    dispatcher = Dispatcher(workers, lambda _: None, lambda: False)
    assert dispatcher.run([(0,)], lambda *_: TASK, lambda: 1)
    assert dispatcher.given_up == [(0,)]
    assert workers.n_renewed == len(workers.tried) > 1


def test_workers_are_not_replaced_at_the_end() -> None:
    """A worker that dies while the run ends is not missed: new processes would be started in vain."""
    workers = FailingWorkers()
    dispatcher = Dispatcher(workers, lambda _: None, lambda: True)
    dispatcher._wind_down({workers.submit(TASK): TASK})
    assert workers.n_renewed == 0

import math
from concurrent.futures import Future

from certimeans.proof.steps import CovarianceStep
from certimeans.search.node import NodeReport, NodeTask, Outcome, SearchTask, Task
from certimeans.search.running import RunningTasks


def node(number: int, bound: float) -> NodeTask:
    return NodeTask(number, (), None, bound, math.inf, 0.0, seed=0, seconds=None)


def start(running: RunningTasks, task: Task) -> Future[Outcome]:
    future: Future[Outcome] = Future()
    running.start(task)
    running.started(future)
    return future


def test_bounds_count_once_they_are_proven() -> None:
    """A report raises a node's bound if it brings the steps that prove it, until the node ends."""
    running = RunningTasks()
    first = start(running, node(1, 2.0))
    start(running, SearchTask(math.inf, seed=0, seconds=None))
    assert running.lower_bound == 2.0
    running.hear(NodeReport(1, 5.0, None, 0))
    assert running.lower_bound == 2.0
    report = NodeReport(1, 4.0, None, 0, (CovarianceStep(),))
    assert running.hear(report)
    assert running.lower_bound == 4.0
    assert running.reports() == [report]
    running.finish(first)
    assert not running.hear(report)  # too late
    assert math.isinf(running.lower_bound)
    assert running.reports() == []
    assert len(running) == 1


def test_a_task_counts_while_it_is_handed_over() -> None:
    """A worker in this thread evaluates it right there, and reports."""
    running = RunningTasks()
    running.start(node(0, 1.0))
    running.hear(NodeReport(0, 3.0, None, 0, (CovarianceStep(),)))
    assert [task.number for task in running.nodes()] == [0]
    assert running.lower_bound == 3.0
    running.not_started()
    assert running.nodes() == []


def test_when_the_workers_are_lost_everything_is() -> None:
    """The tasks come back, to be queued again."""
    running = RunningTasks()
    for number in range(3):
        start(running, node(number, 1.0))
    assert len(running.lose_all()) == 3
    assert len(running) == 0

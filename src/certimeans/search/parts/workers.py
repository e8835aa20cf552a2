"""Where parts are bounded: in this process, in local processes, on a Dask cluster, or wherever an executor runs."""

from __future__ import annotations

import shutil
import signal
import tempfile
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from threadpoolctl import threadpool_limits

from certimeans.blas import one_blas_thread
from certimeans.bounds.parts.matching import Template
from certimeans.deadline import Deadline
from certimeans.errors import InputError
from certimeans.search.background import in_background
from certimeans.search.dask_executor import DaskExecutor
from certimeans.search.foreign_workers import ClusterWatch, dask_client, dask_failures, send_to_all
from certimeans.search.parts.tasks import PartOutcome, PartTask, perform_parts, write_template
from certimeans.search.process_pool import StartingPool, make_process_pool
from certimeans.search.workers import LOST
from certimeans.warmup import prepare_for_parts

Outcomes = Future[list[PartOutcome]]


class PartWorkers(Protocol):
    """What the search by parts needs of an executor.

    Attributes
    ----------
    capacity
        How many tasks run at a time.
    takes_batches
        Whether it pays to hand out several parts at a time. How many depends on the clock, and what is proven on that.
    failures, failures_elsewhere
        Exceptions of a future that mean: the worker failed, and the task may be tried again; and those among them which
        the task itself cannot have caused.
    message
        What the user should know about the workers now; usually empty.
    """

    capacity: int
    takes_batches: bool
    failures: tuple[type[BaseException], ...]
    failures_elsewhere: tuple[type[BaseException], ...]
    message: str

    def look(self) -> None:
        """Look after the workers, now and then."""

    def send(self, template: Template) -> Template | Path:
        """Return what tasks carry so that their parts can start from a template."""

    def submit(self, task: PartTask) -> Outcomes:
        """Start to work on a task."""

    def renew(self) -> bool:
        """Replace workers that failed; say whether all outstanding tasks are lost with them."""

    def close(self) -> None:
        """Release everything, without waiting for running tasks."""


class _Workers:
    """What most have in common."""

    takes_batches = True
    failures = LOST
    failures_elsewhere: tuple[type[BaseException], ...] = ()
    message = ""

    def look(self) -> None:
        """Do nothing."""

    def send(self, template: Template) -> Template | Path:
        """Let a template travel with each task."""
        return template

    def renew(self) -> bool:
        """Do nothing."""
        return False

    def close(self) -> None:
        """Do nothing."""


class ThreadWorker(_Workers):
    """One thread of this process, which is left behind when a deadline passes."""

    capacity = 1
    takes_batches = False

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def submit(self, task: PartTask) -> Outcomes:
        """Start the thread."""
        return in_background(perform_parts, task, self._deadline)

    def close(self) -> None:
        """Tell the thread to end at its next look."""
        self._deadline.request_stop()


class ProcessPool(_Workers):
    """Local processes with one BLAS thread each; templates are files that all of them read.

    Processes take a second or two to start; until then, parts are bounded in threads of this process. If they cannot be
    started, this goes on.
    """

    def __init__(self, n_processes: int, deadline: Deadline) -> None:
        self.capacity = n_processes
        self._deadline = deadline
        self._folder = Path(tempfile.mkdtemp(prefix="certimeans-templates-"))
        self._count = 0
        self._pool = self._new_pool()

    def send(self, template: Template) -> Template | Path:
        """Write a template once for all processes; it travels with each task if it cannot be written."""
        self._count += 1
        path = self._folder / f"template-{self._count}.npz"
        try:
            write_template(template, path)
        except OSError:
            return template
        return path

    def look(self) -> None:
        """Look after the processes."""
        self._pool.look()

    def submit(self, task: PartTask) -> Outcomes:
        """Queue a task for the next free process, or start it in a thread."""
        self.message = self._pool.message
        pool = self._pool.executor() if self._pool.is_ready else None
        if pool is None:
            return in_background(perform_parts, task, self._deadline)
        return pool.submit(perform_parts, task)

    def renew(self) -> bool:
        """Start a new pool: a process that ends breaks the whole old one."""
        if self._pool.has_failed:
            return False  # all others are in threads, which go on
        self._pool.kill()
        self._pool = self._new_pool()
        return True

    def close(self) -> None:
        """Kill the processes, remove the templates, and tell threads to end at their next look."""
        self._deadline.request_stop()
        self._pool.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _new_pool(self) -> StartingPool:
        count, folder = self.capacity, self._folder
        return StartingPool(count, lambda: make_process_pool(count, _prepare_process, folder=folder))


class ForeignPool(_Workers):
    """Any ``concurrent.futures.Executor`` that the user brings."""

    def __init__(self, executor: Executor, capacity: int) -> None:
        self.capacity = capacity
        self._executor = executor

    def submit(self, task: PartTask) -> Outcomes:
        """Hand a task to the executor."""
        return self._executor.submit(_perform_elsewhere, task)


class DaskPool(ForeignPool):
    """A Dask cluster: every task carries its own points, and no worker ever holds the whole.

    A template is larger than the parts that start from it. It is sent to every worker once, as long as it is in use; if
    it was lost with the workers that had it, it is sent again. It travels with each task if sending fails, or if the
    user brought Dask's executor rather than the client: only the executor knows which client it belongs to.
    """

    def __init__(self, client: Any, deadline: Deadline, executor: Executor | None = None) -> None:
        self._client = client
        self._deadline = deadline
        self._may_send = executor is None
        self._sent: WeakKeyDictionary[Template, Any] = WeakKeyDictionary()
        self._watch = ClusterWatch(client, deadline)
        self.failures = dask_failures()
        self.failures_elsewhere = (CancelledError,)
        super().__init__(executor or DaskExecutor(client), 1)
        self._watch.look()
        self._note()

    def submit(self, task: PartTask) -> Outcomes:
        """Hand a task to the cluster, without a template that is there already."""
        there = self._send_once(task.template) if isinstance(task.template, Template) else None
        if there is None:
            return super().submit(task)
        return self._executor.submit(_perform_with_template, replace(task, template=None), there)

    def _send_once(self, template: Template) -> Any | None:
        """Return what stands for a template that all workers have; ``None`` if they have not."""
        if template not in self._sent and self._may_send and self._watch.n_threads:
            there = send_to_all(self._client, template, self._deadline)
            self._may_send = there is not None  # what took too long would do so again
            if there is not None:
                self._sent[template] = there
        return self._sent.get(template)

    def renew(self) -> bool:
        """Send templates again: they may be lost with a worker that held them."""
        self._sent.clear()
        return False

    def look(self) -> None:
        """Look whether there are workers."""
        self._watch.look_now_and_then()
        self._note()

    def _note(self) -> None:
        self.capacity = max(1, self._watch.n_threads)
        self.message = self._watch.message


def make_part_workers(n_jobs: int, executor: Executor | Any | None, deadline: Deadline) -> PartWorkers:
    """Choose where to bound parts; see :func:`certimeans.search.executors.make_workers`."""
    if executor is None:
        return ThreadWorker(deadline) if n_jobs == 1 else ProcessPool(n_jobs, deadline)
    client = dask_client(executor)
    if client is not None:
        return DaskPool(client, deadline, None if client is executor else executor)
    if not callable(getattr(executor, "submit", None)):
        raise InputError(f"executor must have a method 'submit', or be a Dask client; got {executor!r}")
    return ForeignPool(executor, n_jobs)


def _prepare_process() -> None:
    """Leave Ctrl-C to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(limits=1, user_api="blas")


def _perform_with_template(task: PartTask, template: Template) -> list[PartOutcome]:
    return _perform_elsewhere(replace(task, template=template))


def _perform_elsewhere(task: PartTask) -> list[PartOutcome]:
    prepare_for_parts()  # a worker compiles once, before the task's clock starts
    with one_blas_thread():
        return perform_parts(task)

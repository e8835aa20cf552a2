"""Solve the instances of a suite, one after the other or side by side, and keep every result as soon as it is known."""

from __future__ import annotations

import math
import shutil
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from certimeans._version import __version__
from certimeans.bench.memory import PeakMemory
from certimeans.bench.rows import ResultsFile, Row, Settings, published_columns
from certimeans.bench.suite import Case
from certimeans.certificate.check import verify
from certimeans.errors import CertimeansError, InfeasibleError
from certimeans.problem.instance import Instance
from certimeans.result import SolveResult, SolveStatus
from certimeans.search.limits import Limits
from certimeans.search.process_pool import make_process_pool
from certimeans.solver import solve_instance

Verifier = Callable[[SolveResult, Path], str]
"""Writes a result's certificate to a folder and re-proves it from there; returns ``yes``, or why it failed."""

_NEVER_DONE = ("error", str(SolveStatus.INTERRUPTED))  # such rows are tried again
_FAILURES = (CertimeansError, MemoryError)
"""What becomes a row, so that the other instances are solved."""


@dataclass(frozen=True)
class Run:
    """What to solve, how, and where to keep the results.

    Attributes
    ----------
    cases, settings
        What, and how.
    folder
        ``results.csv`` is there; rows that it already has for these instances, settings and version are not solved
        again.
    verifier
        Re-checks each certificate, if given.
    """

    cases: Sequence[Case]
    settings: Settings
    folder: Path
    verifier: Verifier | None = None

    @property
    def file(self) -> ResultsFile:
        """The file with the results."""
        return ResultsFile(self.folder / "results.csv")

    def rows(self) -> list[Row]:
        """Return the last row of each of these instances with these settings, solved or not, as the suite is sorted."""
        mine = str(self.settings)
        known = {row.key: row for row in self.file.read() if row.settings == mine and row.version == __version__}
        found = [(case, known[_key(case)]) for case in self.cases if _key(case) in known]
        # Without a fingerprint the instance could not be read, and need not be read again to know that.
        return [row for case, row in found if not row.fingerprint or row.fingerprint == _fingerprint(case)]

    def done(self) -> list[Row]:
        """Rows that need not be solved again."""
        return [row for row in self.rows() if self._counts(row)]

    def missing(self) -> list[Case]:
        """Instances that are still to be solved."""
        done = {row.key for row in self.done()}
        return [case for case in self.cases if _key(case) not in done]

    def execute(self, on_row: Callable[[Row], None]) -> bool:
        """Solve what is missing; False if interrupted before the end.

        Rows are appended to the file one by one and passed to ``on_row``.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        cases = self.missing()
        # Lines that a kill cut off, and rows that are about to be replaced, go.
        replaced = {_key(case) for case in cases}
        mine = str(self.settings)
        kept = [row for row in self.file.read() if row.settings != mine or row.key not in replaced]
        self.file.write(kept)
        if not cases:
            return True
        try:
            warm_up()
            for row in self._solve(cases):
                if row.status == SolveStatus.INTERRUPTED and not row.message:
                    return False  # by Ctrl-C or SIGTERM; a message would tell of workers that died
                self.file.append(row)
                on_row(row)
        except KeyboardInterrupt:
            return False
        return True

    def _solve(self, cases: Sequence[Case]) -> Iterator[Row]:
        certificates = self.folder / "certificates"
        if self.settings.parallel == 1:
            for case in cases:
                yield solve_case(case, self.settings, self.verifier, certificates)
            return
        waiting = deque(cases)
        while waiting:  # a process that ends breaks the whole pool; the other tasks get a new one
            with _processes(min(self.settings.parallel, len(waiting))) as pool:
                yield from self._solve_side_by_side(waiting, pool, certificates)

    def _solve_side_by_side(self, waiting: deque[Case], pool: Executor, certificates: Path) -> Iterator[Row]:
        """Solve what is waiting until all is done, or until a process dies."""
        running: dict[Future[Row], Case] = {}
        is_broken = False
        while running or (waiting and not is_broken):
            # No more than there are processes: a pool that is killed with work in its queue complains.
            while waiting and not is_broken and len(running) < self.settings.parallel:
                try:
                    future = pool.submit(solve_case, waiting[0], self.settings, self.verifier, certificates)
                except BrokenExecutor:  # a process died while another one came to its end
                    is_broken = True
                else:
                    running[future] = waiting.popleft()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                case = running.pop(future)
                try:
                    yield future.result()
                except BrokenExecutor:
                    is_broken = True
                    message = "a process died, perhaps for lack of memory; start the benchmark again to retry"
                    yield _failed(case, None, self.settings, "error", message)

    def _counts(self, row: Row) -> bool:
        is_checked = self.verifier is None or row.verified == "yes" or not row.is_solved
        return row.status not in _NEVER_DONE and is_checked


def solve_case(case: Case, settings: Settings, verifier: Verifier | None, certificates: Path) -> Row:
    """Solve one instance; what goes wrong becomes a row, too."""
    warm_up()
    try:
        instance = case.instance
    except _FAILURES as error:
        return _failed(case, None, settings, "error", str(error) or "out of memory")
    try:
        with PeakMemory(with_children=settings.jobs > 1) as memory:
            limits = Limits(settings.gap, settings.time_limit)
            result = solve_instance(instance, limits, n_jobs=settings.jobs, seed=settings.solver_seed)
        verified, verify_time = "", math.nan
        if verifier is not None and result.status is SolveStatus.OPTIMAL:
            began = time.perf_counter()
            verified = verifier(result, certificates / case.name.replace(" ", "_"))
            verify_time = round(time.perf_counter() - began, 4)
    except InfeasibleError as error:
        return _failed(case, instance, settings, "infeasible", str(error))
    except _FAILURES as error:
        return _failed(case, instance, settings, "error", str(error) or "out of memory")
    row = _solved(case, result, settings, memory.megabytes)
    return replace(row, verified=verified, verify_time=verify_time)


def save_and_verify(result: SolveResult, folder: Path) -> str:
    """Write a certificate, re-prove it from the files, and delete them unless they failed; say how it went."""
    result.save(folder, overwrite=True, report=False)
    try:
        verify(folder, instance=result.instance)
    except CertimeansError as error:
        return f"NO: {error}"
    shutil.rmtree(folder)
    return "yes"


@cache
def warm_up() -> None:
    """Solve something small once in each process, so that no result's time includes compilation or imports."""
    random = np.random.default_rng(0)
    points = random.normal(size=(40, 3))
    # Points without structure, to gap 0: bounds, cuts, branching and rounding all run.
    instance = Instance.create(points, 4, must_link=[(0, 1), (2, 3)], cannot_link=[(4, 5), (5, 6), (0, 7)])
    solve_instance(instance, Limits(gap=0.0, seconds=None, nodes=4))


def _solved(case: Case, result: SolveResult, settings: Settings, megabytes: float) -> Row:
    return Row(
        dataset=case.dataset,
        n=result.instance.n_points,
        d=result.instance.n_features,
        k=result.instance.n_clusters,
        ml=case.must_links,
        cl=case.cannot_links,
        seed=case.seed,
        size=result.size,
        status=str(result.status),
        objective=result.objective,
        lower_bound=result.lower_bound,
        gap=result.gap,
        root_gap=result.root_gap,
        nodes=result.nodes,
        cuts=result.cuts,
        rounds=result.rounds,
        root_time=round(result.root_seconds, 4),
        time=round(result.seconds, 4),
        peak_memory=round(megabytes, 1),
        **published_columns(case.published, result.objective, result.lower_bound, result.seconds),
        message=result.message,
        version=__version__,
        settings=str(settings),
        fingerprint=result.instance.fingerprint,
    )


def _failed(case: Case, instance: Instance | None, settings: Settings, status: str, message: str) -> Row:
    n, d, k = (0, 0, 0) if instance is None else (instance.n_points, instance.n_features, instance.n_clusters)
    return Row(
        dataset=case.dataset,
        n=n,
        d=d,
        k=k,
        ml=case.must_links,
        cl=case.cannot_links,
        seed=case.seed,
        size=0,
        status=status,
        objective=math.inf,
        lower_bound=math.inf if status == "infeasible" else -math.inf,
        gap=math.inf,
        root_gap=math.inf,
        nodes=0,
        cuts=0,
        rounds=0,
        root_time=math.nan,
        time=math.nan,
        peak_memory=math.nan,
        message=message,
        version=__version__,
        settings=str(settings),
        fingerprint="" if instance is None else instance.fingerprint,
    )


def _fingerprint(case: Case) -> str | None:
    try:
        return case.instance.fingerprint
    except _FAILURES:
        return None  # its row will say why


def _key(case: Case) -> tuple[str, int, int, int]:
    return case.dataset, case.must_links, case.cannot_links, case.seed


@contextmanager
def _processes(number: int) -> Iterator[Executor]:
    """Start processes that solve instances; they are killed when the block is left early."""
    pool = make_process_pool(number, _prepare_process)  # loky's may start processes of their own
    try:
        yield pool
        pool.shutdown(wait=True)
    except BaseException:
        pool.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]
        raise


def _prepare_process() -> None:
    """Leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

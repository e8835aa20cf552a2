"""Make all tables of ``benchmarks/results/`` again.

Usage: ``python -m benchmarks.all --data DATA [--packages PACKAGES] [--other OTHER] [--only NAME ...]``.

``make bench DATA=..`` takes hours; ``--quick`` (``make bench-quick``) tries the same scripts on small selections within
minutes, and writes to ``build/bench-quick`` instead. ``DATA`` has the paper's instances (``datasets/``,
``constraints/``, ``labels/``, ``published.csv``), ``large/`` and ``ucr/``; ``PACKAGES`` the downloaded packages of
``benchmarks.suite.large_instances``; ``OTHER`` is a checkout of the version to compare with. Steps that need a folder
that is not given are left out, and the end says so.

A run that was interrupted goes on where it stopped: what is done for the same sources, with the same arguments and on
the same kind of machine is not done again. ``benchmarks/results/steps.json`` says what is done, so that a run may go on
in another checkout. Sources are those of the package, of the benchmarks and of the tests that these import; commits of
tables or texts do not count. If they are edited while it runs, it stops, and the step at hand does not count. Each step
has its log. A step fails if its script does, or if a file that it should write is not new; the others go on, and the
exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmarks.record import OUT
from benchmarks.reliability.sources import ROOT, sources_in_use
from benchmarks.steps import FOLDERS, Step, steps
from certimeans.report.environment import processor


@dataclass(frozen=True)
class Place:
    """Where a run reads and writes.

    Attributes
    ----------
    build
        Folder of logs and unfinished work, and of a trial's state.
    results, pictures
        Where tables and pictures go.
    folders
        What the words of :data:`~benchmarks.steps.FOLDERS` stand for, as far as given.
    sources
        Which sources are measured.
    is_quick
        Whether this is a trial.
    """

    build: Path
    results: Path
    pictures: Path
    sources: str
    folders: dict[str, Path] = field(default_factory=dict)
    is_quick: bool = False

    @classmethod
    def of(cls, options: argparse.Namespace) -> Place:
        """Find the folders of a command line."""
        build: Path = (options.build or ROOT / "build" / ("bench-quick" if options.quick else "bench")).resolve()
        given = {"DATA": options.data, "PACKAGES": options.packages, "OTHER": options.other}
        folders = {word: path.resolve() for word, path in given.items() if path is not None}
        sources = sources_in_use()
        if options.quick:
            return cls(build, build / "results", build / "images", sources, folders, is_quick=True)
        return cls(build, ROOT / "benchmarks" / "results", ROOT / "docs" / "images", sources, folders)

    def missing(self, step: Step) -> set[str]:
        """Return the folders that a step needs and that were not given."""
        return step.needs(is_quick=self.is_quick) - self.folders.keys() - {"WORK", "RESULTS"}

    @property
    def state(self) -> Path:
        """File that says what is done; that of real tables is kept beside them."""
        return self.build / "state.json" if self.is_quick else self.results / "steps.json"

    def command(self, step: Step) -> list[str]:
        """Return what to run."""
        stands_for = {**self.folders, "WORK": self.work(step), "RESULTS": self.results}
        words = []
        for word in step.words(is_quick=self.is_quick):
            first, *rest = word.split("/")
            words.append(str(stands_for[first].joinpath(*rest)) if first in FOLDERS else word)
        return [sys.executable, "-m", *words]

    def work(self, step: Step) -> Path:
        """Return the folder in which a step may keep what it has done so far; what other sources did is no part."""
        return self.build / "work" / step.name / self.sources

    def log(self, step: Step) -> Path:
        """Return the file to which a step's output is added."""
        return self.build / "logs" / f"{step.name}.log"

    def written(self, pattern: str) -> dict[Path, int]:
        """Return the files of a pattern, and when they were written."""
        found = [path for folder in (self.results, self.pictures) for path in folder.glob(pattern)]
        return {path: path.stat().st_mtime_ns for path in found}


class State:
    """What was done, by the names of steps; on disk after each one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def has(self, step: Step, place: Place, *, keep: bool) -> bool:
        """Whether a step was done here with the same arguments and, unless others are to be kept, the same sources."""
        entry = self.done.get(step.name, {})
        is_same = (entry.get("words"), entry.get("machine")) == (step.words(is_quick=place.is_quick), _machine())
        return is_same and (keep or entry.get("sources") == place.sources)

    def add(self, step: Step, place: Place, seconds: float) -> None:
        """Remember that a step was done."""
        self.done[step.name] = {
            "words": step.words(is_quick=place.is_quick),
            "sources": place.sources,
            "machine": _machine(),
            "seconds": round(seconds, 1),
            "finished": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".new")
        unfinished.write_text(json.dumps(self.done, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(self.path)


def _machine() -> str:
    return f"{processor()}, {os.cpu_count()} cores"


def run_step(step: Step, place: Place) -> str:
    """Run a step with its output in its log; return what went wrong, or nothing."""
    command, log = place.command(step), place.log(step)
    for folder in (log.parent, place.results, place.pictures):
        folder.mkdir(parents=True, exist_ok=True)
    variables = {**os.environ, "PYTHONUNBUFFERED": "1"}
    if place.is_quick:
        variables[OUT] = str(place.build)
    before = {pattern: place.written(pattern) for pattern in step.writes}
    with log.open("a", encoding="utf-8") as file:
        file.write(f"\n=== {datetime.now(UTC):%Y-%m-%d %H:%M:%S} {shlex.join(command)}\n")
        file.flush()
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False, cwd=ROOT, env=variables)
    if done.returncode != 0:
        return f"exit code {done.returncode}"
    not_new = [pattern for pattern in step.writes if place.written(pattern) == before[pattern]]
    if not_new:
        return f"did not write {', '.join(not_new)}"
    shutil.rmtree(place.work(step).parent, ignore_errors=True)
    return ""


def left_out(chosen: Sequence[Step], place: Place) -> dict[str, str]:
    """Return the steps that cannot be run, and why: they need a folder, or the results of such a step."""
    found: dict[str, str] = {}
    for step in chosen:
        missing = place.missing(step).union(
            *({found[name].removeprefix("needs ")} for name in step.after if name in found)
        )
        if missing:
            found[step.name] = f"needs {' and '.join(sorted(missing))}"
    return found


def run_all(chosen: Sequence[Step], place: Place, state: State, *, keep: bool = False, again: bool = False) -> int:
    """Run all steps that are not done; return the exit code."""
    failed: dict[str, str] = {}
    skipped = left_out(chosen, place)
    for number, step in enumerate(chosen, 1):
        head = f"[{number}/{len(chosen)}] {step.name}"
        if step.name in skipped:
            continue
        if not again and state.has(step, place, keep=keep):
            print(f"{head}: done {state.done[step.name]['finished']}", flush=True)
            continue
        broken = [name for name in step.after if name in failed]
        if broken:
            failed[step.name] = f"reads the results of {', '.join(broken)}"
            continue
        print(f"{head}: {_shown(place.command(step), place)}", flush=True)
        if again:
            shutil.rmtree(place.work(step), ignore_errors=True)
        began = time.perf_counter()
        wrong = run_step(step, place)
        seconds = time.perf_counter() - began
        if sources_in_use() != place.sources:
            failed[step.name] = "the sources were edited meanwhile; the same command goes on with the new ones"
            break
        if wrong:
            failed[step.name] = f"{wrong}; see {place.log(step)}"
            print(f"{head}: FAILED after {seconds:.0f} s, {failed[step.name]}", flush=True)
        else:
            state.add(step, place, seconds)
            print(f"{head}: {seconds:.0f} s", flush=True)
    for what, group in (("left out", skipped), ("FAILED", failed)):
        for name, why in group.items():
            print(f"{what}: {name}: {why}")
    n_done = sum(state.has(step, place, keep=keep) for step in chosen)
    print(f"{n_done} of {len(chosen)} steps done; tables: {place.results}")
    return int(bool(failed))


def _shown(command: list[str], place: Place) -> str:
    """Write a command with the words for folders, which is shorter."""
    line = shlex.join(["python", *command[1:]])
    for word, path in place.folders.items():
        line = line.replace(str(path), word)
    return line


def show(chosen: Sequence[Step], place: Place, state: State, *, keep: bool, again: bool) -> None:
    """List the steps and what would happen to each."""
    skipped = left_out(chosen, place)
    for step in chosen:
        if step.name in skipped:
            what = f"left out, {skipped[step.name]}"
        elif not again and state.has(step, place, keep=keep):
            entry = state.done[step.name]
            what = f"done {entry['finished']} in {entry['seconds']:.0f} s"
        else:
            what = "to do"
        print(f"{step.name:24} {what:40} {', '.join(step.writes)}")


def choose(known: Sequence[Step], patterns: Sequence[str] | None, *, is_quick: bool) -> list[Step]:
    """Return the steps that match, in their order.

    Raises
    ------
    SystemExit
        If a pattern matches nothing.
    """
    possible = [step for step in known if not is_quick or step.quick is not None]
    wrong = [p for p in patterns or () if not any(fnmatch(step.name, p) for step in possible)]
    if wrong:
        raise SystemExit(f"benchmarks.all: no step is called {', '.join(wrong)}; --list has the names")
    return [step for step in possible if patterns is None or any(fnmatch(step.name, p) for p in patterns)]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse and check the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.all", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, help="the paper's instances, large/ and ucr/ (make: DATA=)")
    add("--packages", type=Path, help="downloaded packages with data (make: PACKAGES=)")
    add("--other", type=Path, help="a checkout of the version to compare with (make: OTHER=)")
    add("--quick", action="store_true", help="a trial on small selections, away from the real tables")
    add("--only", nargs="+", metavar="NAME", help="only these steps; wildcards are allowed")
    add("--keep", action="store_true", help="what was done with other sources counts as done")
    add("--again", action="store_true", help="do all again")
    add("--list", action="store_true", help="show the steps, whether each is done and what it writes")
    add("--dry-run", action="store_true", help="show what would be run")
    add("--build", type=Path, help="folder of logs and unfinished work (default build/bench or build/bench-quick)")
    options = parser.parse_args(arguments)
    if options.data is None and not options.list:
        parser.error("the folder of data is missing: --data DATA, or make bench DATA=folder")
    for name in ("data", "packages", "other"):
        folder = getattr(options, name)
        if folder is not None and not folder.is_dir():
            parser.error(f"--{name}: there is no folder {folder}")
    if options.data is not None and not (options.data / "datasets").is_dir():
        parser.error(f"--data: {options.data} has no folder datasets/")
    return options


def main(arguments: Sequence[str] | None = None, known: Sequence[Step] | None = None) -> int:
    """Do what is asked for; return the exit code."""
    options = parse(arguments)
    place = Place.of(options)
    state = State(place.state)
    chosen = choose(steps() if known is None else known, options.only, is_quick=options.quick)
    if options.list:
        show(chosen, place, state, keep=options.keep, again=options.again)
        return 0
    if options.dry_run:
        skipped = left_out(chosen, place)
        for step in chosen:
            if step.name in skipped:
                print(f"{step.name}: left out, {skipped[step.name]}")
            elif options.again or not state.has(step, place, keep=options.keep):
                print(f"{step.name}: {shlex.join(place.command(step))}")
        return 0
    if "+" in place.sources:
        print("the sources are edited: commit first if the tables are to be kept", flush=True)
    try:
        return run_all(chosen, place, state, keep=options.keep, again=options.again)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on from here")
        return 130


if __name__ == "__main__":
    sys.exit(main())

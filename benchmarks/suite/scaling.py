"""How time and gap grow with points, clusters, features and constraints; and what a cluster of machines would do.

Usage: ``python -m benchmarks.suite.scaling [--only n k d links dask] [--jobs 2]``, about forty minutes on two quiet
cores; ``--quick --results DIR`` for two minutes, which only shows that everything works. Blobs of one kind
(``scaling_instances.py``) are solved and verified from the command line, as in ``large.py``, twice each: how long does
a gap of 1 % take, and which gap is proven in half a minute? Then a run by parts on a Dask cluster on loopback, with one
worker and with two (``scaling_dask.py``).

Rows go to ``scaling.jsonl`` as they come, and what is there is not measured again: a study that was interrupted goes
on. ``--again`` measures what is chosen anew. Tables, fitted slopes and text are in ``scaling.md``, the plots in
``docs/images``, or beside the tables if ``--results`` names a folder. ``--report`` writes these from the rows alone.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, write_result
from benchmarks.suite.large import measure
from benchmarks.suite.large_instances import Folders, Target
from benchmarks.suite.scaling_dask import WORKERS, dask_name, measure_on_dask
from benchmarks.suite.scaling_fit import Rows
from benchmarks.suite.scaling_instances import Plan, Setting, full_plan, quick_plan
from benchmarks.suite.scaling_plots import draw_study
from benchmarks.suite.scaling_report import report
from certimeans.warmup import prepare

_IMAGES = Path(__file__).parents[2] / "docs" / "images"
_DASK = "dask"


def read_rows(path: Path) -> Rows:
    """Return the rows of all runs so far by name and target; of a run that was repeated, the last."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {(row["name"], row["target_gap"], row["target_seconds"]): row for row in rows}


def runs_of(plan: Plan, chosen: list[str]) -> Iterator[tuple[Setting, Target]]:
    """Yield all runs of some studies, each once: the basic setting belongs to every study."""
    settings = dict.fromkeys(setting for study in plan.studies if study.name in chosen for setting in study)
    return ((setting, target) for setting in settings for target in plan.targets)


def measure_all(plan: Plan, chosen: list[str], path: Path, jobs: int, *, again: bool) -> None:
    """Measure what is chosen and not known yet, and append each row as it comes."""
    known = set() if again else {key for key, row in read_rows(path).items() if "gap" in row}  # others failed
    for setting, target in runs_of(plan, chosen):
        if (setting.name, target.gap, target.seconds) not in known:
            row = measure(setting.instance(target), target, Folders(), jobs, [], None)
            _append(path, row | {"setting": asdict(setting)})
    for workers in WORKERS if _DASK in chosen else ():
        if (dask_name(plan, workers), plan.dask_gap, None) not in known:
            _append(path, measure_on_dask(plan, workers))


def _append(path: Path, row: dict[str, Any]) -> None:
    print(json.dumps(row), flush=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def main() -> None:
    """Measure what is asked for, then write the tables and draw the plots of all that is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*(study.name for study in full_plan().studies), _DASK]
    parser.add_argument(
        "--only", nargs="+", choices=names, default=names, help="what to measure; everything if left out"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="small instances and short limits; needs --results")
    parser.add_argument("--results", type=Path, help="folder for rows, tables and plots, instead of the repository's")
    parser.add_argument("--again", action="store_true", help="measure anew what was measured before")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if options.quick and options.results is None:
        parser.error("--quick needs --results: what it measures must not replace the study")
    plan = quick_plan() if options.quick else full_plan()
    results, images = options.results or RESULTS, options.results or _IMAGES
    results.mkdir(parents=True, exist_ok=True)
    path = results / "scaling.jsonl"
    if not options.report:
        prepare()  # compiles everything, for the processes to come
        measure_all(plan, options.only, path, options.jobs, again=options.again)
    rows = read_rows(path)
    for study in plan.studies:
        draw_study(plan, study, rows, images / f"scaling_{study.name}.png")
    write_result("scaling", "How time and gap grow", report(plan, rows, os.path.relpath(images, results)), results)


if __name__ == "__main__":
    main()

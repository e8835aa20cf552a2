"""Break the checker on purpose, one rule at a time, and see whether the mutated certificates find it.

Usage: ``python -m benchmarks.reliability.sabotage [--seeds 0:90] [--only TEXT]``. Each is made in a copy of the
package; certificates are mutated until the broken checker says something false. One that is never found means that the
mutations are too tame, or that another rule of the checker covers for the broken one. Writes
``benchmarks/results/sabotage.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.record import markdown_table, write_result
from benchmarks.reliability.run import seeds_of

_ROOT = Path(__file__).parents[2]


class Sabotage(NamedTuple):
    """A rule that is taken out: a text of one of the checker's files, and what stands there instead."""

    what: str
    file: str
    old: str
    new: str


SABOTAGES = (
    Sabotage(
        "multipliers of cuts may be negative",
        "read.py",
        'require(bool((multipliers >= 0).all()), f"{prefix}cut_multiplier: a multiplier is negative")',
        "pass",
    ),
    Sabotage("slack may be negative", "steps.py", "if wrong.size and not (", "if False and not ("),
    Sabotage(
        "a super-point may have points that nothing holds together",
        "state.py",
        "if not (of_super_point[groups] == own).all():",
        "if False:",
    ),
    Sabotage("parts may have more weight than there is", "parts.py", "if too_heavy:", "if False:"),
    Sabotage("joining regions is forgotten", "regions.py", "min(joined, apart) if", "apart if"),
    Sabotage("a group may lie in two regions", "regions.py", "if split.size:", "if False:"),
    Sabotage(
        "a proof may be about other points than its region's",
        "regions.py",
        "if not np.array_equal(proof.members, members):",
        "if False:",
    ),
    Sabotage(
        "more clusters cost no less",
        "regions.py",
        "for clusters in range(size, 0, -1):",
        "for clusters in range(1, size + 1):",
    ),
    Sabotage(
        "points may be merged without a reason",
        "state.py",
        "if not self.links.get(c, set()).issuperset([i, j, *clique[:position]]):",
        "if False:",
    ),
    Sabotage("infeasibility is believed", "steps.py", "if not state.is_infeasible(", "if False and not ("),
    Sabotage("a branch counts with its larger bound", "walk.py", "max(best[here], min(", "max(best[here], max("),
    Sabotage(
        "an entry may belong to two branches",
        "walk.py",
        'require(entry not in reached, f"{step.where}: entry {entry} belongs to a branch already")',
        "pass",
    ),
    Sabotage("a claimed bound is believed", "check.py", "if proven < claimed:", "if False:"),
    Sabotage("a claimed cost is believed", "check.py", "if objective < cost:", "if False:"),
    Sabotage("labels may break constraints", "check.py", "if broken.size:", "if False:"),
    Sabotage("labels may break limits on sizes", "check.py", "limits.are_kept(labels, certificate.k)", "k"),
    Sabotage("clusters may be empty", "check.py", "if empty.size:", "if False:"),
    Sabotage(
        "identical points may leave too few groups", "steps.py", "+ len(places) < certificate.k:", "+ len(places) < 0:"
    ),
    Sabotage(
        "identical points need not be free",
        "state.py",
        "is_free[[group for group, others in self.links.items() if others]] = False",
        "pass",
    ),
    Sabotage("other data are not noticed", "check.py", "if differ.size:", "if False:"),
    Sabotage("another k is not noticed", "check.py", "if certificate.k != instance.n_clusters:", "if False:"),
    Sabotage("the gap in result.json is believed", "result.py", "claimed < gap * (1 - _ROUNDING)", "False"),
    Sabotage("the status in result.json is believed", "result.py", 'if status == "optimal":', "if False:"),
    Sabotage(
        "multipliers of links of sizes may be negative",
        "read.py",
        'require(bool((of_links >= 0).all()), f"{prefix}link_multiplier: a multiplier is negative")',
        "pass",
    ),
    Sabotage(
        "multipliers of limits may be negative",
        "read.py",
        'require(bool((sizes >= 0).all()), f"{prefix}size_multiplier: a multiplier is negative")',
        "pass",
    ),
    Sabotage(
        "a cut may have a super-point twice",
        "read.py",
        'require(bool((places[:-1] != places[1:]).all()), f"{prefix}cut_member: a cut has a super-point twice")',
        "pass",
    ),
)

_PROGRAM = """
import contextlib, io, json, sys
from benchmarks.reliability.certificates import mutated_certificates
tried = 0
for seed in range(int(sys.argv[1]), int(sys.argv[2])):
    with contextlib.redirect_stdout(io.StringIO()):
        outcome = mutated_certificates(range(seed, seed + 1))
    tried += outcome.tried
    if outcome.failures:
        break
print(json.dumps([tried, outcome.failures]))
"""


def found_after(sabotage: Sabotage | None, seeds: range) -> tuple[int, list[str]]:
    """Return how many mutants there were until something false was said, and what that was."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(_ROOT / "src" / "certimeans", Path(folder) / "certimeans")
        if sabotage is not None:
            path = Path(folder) / "certimeans" / "certificate" / sabotage.file
            text = path.read_text(encoding="utf-8")
            if text.count(sabotage.old) != 1:
                raise ValueError(f"{sabotage.file} has this {text.count(sabotage.old)} times: {sabotage.old}")
            path.write_text(text.replace(sabotage.old, sabotage.new), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(seeds.start), str(seeds.stop)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, str(_ROOT)])},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    tried, failures = json.loads(done.stdout)
    return tried, failures


def main() -> None:
    """Try all sabotages, or some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=seeds_of, default=range(90), metavar="A:B")
    parser.add_argument("--only", metavar="TEXT", help="only sabotages whose description has this text")
    options = parser.parse_args()
    rows = []
    for sabotage in SABOTAGES:
        if options.only and options.only not in sabotage.what:
            continue
        tried, failures = found_after(sabotage, options.seeds)
        rows.append((sabotage.what, sabotage.file, "yes" if failures else "no", tried))
        print(*rows[-1], *failures[:2], sep=" | ", flush=True)
    if not options.only:
        table = markdown_table(("broken rule", "file", "found", "mutants"), rows)
        write_result("sabotage", "Is a broken checker found?", table)


if __name__ == "__main__":
    main()

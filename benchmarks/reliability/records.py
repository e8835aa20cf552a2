"""What was tried, kept from run to run: a line of JSON for each finished block of seeds of a check.

Files of several runs or machines may be concatenated. Of records whose seeds overlap the later line counts; so what
went wrong and was mended can be tried again, and the earlier line still says what had gone wrong.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.reliability.outcome import Outcome

_SOURCES = ("src", "tests", "benchmarks/reliability")
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Record:
    """What a block of seeds of one check found; see :class:`~benchmarks.reliability.outcome.Outcome`."""

    check: str
    first: int
    last: int
    tried: int
    wrong: list[str]
    seconds: float
    commit: str
    date: str
    counts: dict[str, int] = field(default_factory=dict)
    worst: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, check: str, seeds: range, outcome: Outcome, seconds: float) -> Record:
        """Make a record of a block that has just been done."""
        return cls(
            check,
            seeds.start,
            seeds.stop - 1,
            outcome.tried,
            outcome.failures,
            round(seconds, 1),
            commit(),
            f"{datetime.now(UTC):%Y-%m-%d}",
            dict(sorted(outcome.counts.items())),
            outcome.worst,
        )

    @property
    def seeds(self) -> range:
        """The seeds that were tried."""
        return range(self.first, self.last + 1)

    def overlaps(self, other: Record) -> bool:
        """Whether both are about some seed of one check."""
        return self.check == other.check and self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Total:
    """The sum of records of one check."""

    tried: int
    wrong: int
    seconds: float
    counts: dict[str, int]
    worst: dict[str, float]

    @classmethod
    def of(cls, records: Iterable[Record]) -> Total:
        """Add up."""
        kept = list(records)
        counts: Counter[str] = Counter()
        worst: dict[str, float] = {}
        for record in kept:
            counts.update(record.counts)
            worst |= {name: max(value, worst.get(name, value)) for name, value in record.worst.items()}
        tried, wrong = sum(record.tried for record in kept), sum(len(record.wrong) for record in kept)
        return cls(tried, wrong, sum(record.seconds for record in kept), dict(counts), worst)


def read(path: Path) -> list[Record]:
    """Read all records; a last line that was being written when the process ended is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [Record(**_known(json.loads(line))) for line in lines if line.endswith("\n")]


def append(path: Path, record: Record) -> None:
    """Add a record."""
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(record)) + "\n")


def latest(records: list[Record]) -> list[Record]:
    """Leave out records of which a later one has tried some seeds again."""
    kept: list[Record] = []
    for record in reversed(records):
        if not any(record.overlaps(later) for later in kept):
            kept.append(record)
    return kept[::-1]


def compact(path: Path) -> None:
    """Join records of neighbouring blocks of the same commit and day, if they count and nothing was wrong in them.

    A record in which something was wrong stays apart, so that trying its seeds again replaces no others.
    """
    joined: list[Record] = []
    records = read(path)
    counting = {id(record) for record in latest(records) if not record.wrong}
    for record in sorted(records, key=lambda record: record.check):  # a stable order: later ones stay later
        last = joined[-1] if joined else None
        if last is not None and id(record) in counting and _follows(last, record):
            total = Total.of([last, record])
            both = replace(record, first=last.first, tried=total.tried, seconds=round(total.seconds, 1))
            joined[-1] = replace(both, counts=total.counts, worst=total.worst)
        else:
            joined.append(record)
    path.write_text("".join(json.dumps(asdict(record)) + "\n" for record in joined), encoding="utf-8")


def missing(records: list[Record], check: str, wanted: range, block: int) -> list[range]:
    """Return blocks of the wanted seeds that no record has."""
    done = {seed for record in latest(records) if record.check == check for seed in record.seeds}
    blocks: list[range] = []
    start = None
    for seed in range(wanted.start, wanted.stop + 1):
        is_open = seed < wanted.stop and seed not in done
        if start is not None and (not is_open or seed - start == block):
            blocks.append(range(start, seed))
            start = None
        if is_open and start is None:
            start = seed
    return blocks


@cache
def commit() -> str:
    """Return the commit of this checkout at first call, and whether what the checks depend on was changed since."""
    revision = _git("rev-parse", "--short", "HEAD")
    return revision + ("-dirty" if _git("status", "--porcelain", "--", *_SOURCES) else "")


def _follows(last: Record, record: Record) -> bool:
    same = (last.check, last.commit, last.date) == (record.check, record.commit, record.date)
    return same and last.last + 1 == record.first and not last.wrong


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, cwd=_ROOT)  # noqa: S607
    return done.stdout.strip()


def _known(content: dict[str, Any]) -> dict[str, Any]:
    return {name: content[name] for name in Record.__dataclass_fields__ if name in content}

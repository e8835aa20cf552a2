"""What was tried, kept from run to run: a line of JSON for each finished block of seeds of a check.

Files of several runs or machines may be concatenated. Of records whose seeds overlap the later line counts; so what
went wrong and was mended can be tried again, and the earlier line still says what had gone wrong. Records of other
sources than those in use say nothing about these, and do not count unless one asks for it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.reliability.outcome import Outcome
from benchmarks.reliability.sources import sources_in_use
from certimeans.report.environment import environment_line


@dataclass(frozen=True)
class Record:
    """What a block of seeds of one check found; see :class:`~benchmarks.reliability.outcome.Outcome`.

    Attributes
    ----------
    commit
        Which sources were tried, as :func:`~benchmarks.reliability.sources.sources_in_use` names them.
    environment
        Versions and machine; empty in records of a time when this was not recorded.
    """

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
    environment: str = ""

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
            sources(),
            f"{datetime.now(UTC):%Y-%m-%d}",
            dict(sorted(outcome.counts.items())),
            outcome.worst,
            _environment(),
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


def write(path: Path, records: Iterable[Record]) -> None:
    """Write all records anew; a process that is killed meanwhile leaves what there was."""
    unfinished = path.with_suffix(".new")
    unfinished.write_text("".join(json.dumps(asdict(record)) + "\n" for record in records), encoding="utf-8")
    unfinished.replace(path)


def of_sources(records: Iterable[Record], in_use: str | None) -> list[Record]:
    """Return the records that count: those of the sources in use, or with ``None`` all."""
    return [record for record in records if in_use in {None, record.commit}]


def drop_others(path: Path, checks: Container[str], in_use: str) -> list[Record]:
    """Take the records of some checks that are of other sources out of the file, and return them.

    What went wrong with other sources stays on file: it says what was found.
    """
    records = read(path)
    others = [r for r in records if r.check in checks and r.commit != in_use and not r.wrong]
    if others:
        write(path, [record for record in records if record not in others])
    return others


def latest(records: Sequence[Record]) -> list[Record]:
    """Leave out records of which a later one has tried some seeds again."""
    kept: list[Record] = []
    for record in reversed(records):
        if not any(record.overlaps(later) for later in kept):
            kept.append(record)
    return kept[::-1]


def compact(path: Path) -> None:
    """Join records of neighbouring blocks of the same sources and day, if they count and nothing was wrong in them.

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
    write(path, joined)


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
def sources() -> str:
    """Return the sources in use at first call, which are those that this process has loaded."""
    return sources_in_use()


@cache
def _environment() -> str:
    return environment_line()


def _follows(last: Record, record: Record) -> bool:
    same = all(getattr(last, name) == getattr(record, name) for name in ("check", "commit", "date", "environment"))
    return same and last.last + 1 == record.first and not last.wrong


def _known(content: dict[str, Any]) -> dict[str, Any]:
    return {name: content[name] for name in Record.__dataclass_fields__ if name in content}

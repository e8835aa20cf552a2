"""One line of ``results.csv`` for each instance, and the file itself."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from certimeans.bench.published import Published, Verdict, compare, contradiction
from certimeans.errors import InputError
from certimeans.problem.io.atomic import write_atomically

Key = tuple[str, int, int, int]


@dataclass(frozen=True)
class Settings:
    """How the instances are solved: rows of other settings are not mixed with these.

    Attributes
    ----------
    gap, time_limit, jobs, solver_seed
        As for :func:`certimeans.solve`.
    parallel
        How many instances are solved side by side, which makes each slower.
    """

    gap: float = 1e-4
    time_limit: float | None = None
    jobs: int = 1
    parallel: int = 1
    solver_seed: int = 0

    def __post_init__(self) -> None:
        for name in ("jobs", "parallel"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1; got {getattr(self, name)}")

    def __str__(self) -> str:
        """Identify the settings in one cell of a table."""
        limit = "none" if self.time_limit is None else f"{self.time_limit:g}"
        return (
            f"gap={self.gap:g} time_limit={limit} jobs={self.jobs} parallel={self.parallel} "
            f"solver_seed={self.solver_seed}"
        )


@dataclass(frozen=True)
class Row:
    """What is known of one instance after it was solved; infinite or NaN where a number does not exist.

    ``gap`` and ``root_gap`` are relative, ``peak_memory`` is in megabytes, ``verified`` is ``yes``, a reason why not,
    or empty if it was not asked for; ``verify_time`` includes writing the certificate. ``fingerprint`` tells when a
    file has changed since.
    """

    dataset: str
    n: int
    d: int
    k: int
    ml: int
    cl: int
    seed: int
    size: int
    status: str
    objective: float
    lower_bound: float
    gap: float
    root_gap: float
    nodes: int
    cuts: int
    rounds: int
    root_time: float
    time: float
    peak_memory: float
    published_f: float = math.nan
    published_gap0: float = math.nan
    published_nodes: float = math.nan
    published_time: float = math.nan
    published_size: float = math.nan
    published_final_gap: float = math.nan
    verdict: str = ""
    speed_up: float = math.nan
    verified: str = ""
    verify_time: float = math.nan
    message: str = ""
    version: str = ""
    settings: str = ""
    fingerprint: str = ""

    @property
    def key(self) -> Key:
        """What the instance is called."""
        return self.dataset, self.ml, self.cl, self.seed

    @property
    def name(self) -> str:
        """The same as a short name."""
        return f"{self.dataset} {self.ml} {self.cl} {self.seed}"

    @property
    def kind(self) -> str:
        """Which kinds of constraints the instance has."""
        if self.ml and self.cl:
            return "both"
        return "ML only" if self.ml else "CL only" if self.cl else "none"

    @property
    def is_solved(self) -> bool:
        """Whether the gap was proven closed."""
        return self.status == "optimal"

    @property
    def published(self) -> Published | None:
        """The published result, if the suite has one."""
        if math.isnan(self.published_f):
            return None
        return Published(
            int(self.published_size),
            self.published_f,
            self.published_gap0,
            int(self.published_nodes),
            self.published_time,
            None if math.isnan(self.published_final_gap) else self.published_final_gap,
        )

    @property
    def why_not_comparable(self) -> str:
        """Say why the published value is not this instance's; empty if it may be."""
        published = self.published
        return "" if published is None else contradiction(published, self.objective, self.lower_bound)


def published_columns(published: Published | None, objective: float, lower_bound: float, time: float) -> dict[str, Any]:
    """Return the columns of a row that compare it with a published result."""
    if published is None:
        return {"verdict": str(Verdict.NONE)}
    final_gap = published.final_gap_percent
    return {
        "published_f": published.cost,
        "published_gap0": published.root_gap_percent,
        "published_nodes": float(published.nodes),
        "published_time": published.seconds,
        "published_size": float(published.size),
        "published_final_gap": math.nan if final_gap is None else final_gap,
        "verdict": str(compare(published, objective, lower_bound)),
        "speed_up": published.seconds / time,
    }


class ResultsFile:
    """``results.csv``: a row is on disk as soon as it is known, and a kill loses at most the row being written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Row]:
        """Read all rows; a last line that was cut off by a kill is dropped.

        Raises
        ------
        InputError
            If the file is something else.
        """
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8", errors="replace")
        complete = text[: text.rfind("\n") + 1]
        reader = csv.DictReader(io.StringIO(complete))
        names = [field.name for field in fields(Row)]
        if complete and reader.fieldnames != names:
            raise InputError(f"{self.path}: these are not results of this version; choose another folder with --out")
        return [_parse(row, f"{self.path}, line {reader.line_num}") for row in reader]

    def write(self, rows: Iterable[Row]) -> None:
        """Replace the file."""
        header = ",".join(field.name for field in fields(Row)) + "\n"
        write_atomically(self.path, (header + "".join(map(_line, rows))).encode())

    def append(self, row: Row) -> None:
        """Add a row, and return only when it is on the disk."""
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(_line(row))
            file.flush()
            os.fsync(file.fileno())


def _line(row: Row) -> str:
    stream = io.StringIO()
    cells = ["" if isinstance(cell, float) and math.isnan(cell) else cell for cell in asdict(row).values()]
    # A message may hold line ends, but a line of the file is a row.
    csv.writer(stream, lineterminator="\n").writerow(
        [" ".join(cell.split()) if isinstance(cell, str) else cell for cell in cells]
    )
    return stream.getvalue()


def _parse(cells: dict[str, str], where: str) -> Row:
    values: dict[str, Any] = {}
    for field in fields(Row):
        cell = cells[field.name]
        try:
            if field.type == "int":
                values[field.name] = int(cell)
            elif field.type == "float":
                values[field.name] = math.nan if cell == "" else float(cell)
            else:
                values[field.name] = cell or ""
        except (TypeError, ValueError):
            raise InputError(f"{where}: column {field.name!r} holds {cell!r}") from None
    return Row(**values)

"""Tables that open in a spreadsheet: the user's rows with their clusters, and what the clusters are like."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from certimeans.analysis.frames import CLUSTER, cluster_title
from certimeans.analysis.profile import profile_of
from certimeans.problem.io.atomic import write_atomically
from certimeans.problem.sources import is_mapped
from certimeans.result import SolveResult

_MOST_ROWS = 5_000_000


def write_table(result: SolveResult, path: Path) -> None:
    """Write the rows and columns that the points came from, with a column that says the cluster of each row.

    Cells of a file are written as they were, with its separator. Rows that were left out have no cluster.
    """
    if result.instance.n_points > _MOST_ROWS or is_mapped(result.instance.table):
        return  # no spreadsheet opens it, and the labels are beside it
    labels = result.row_labels()
    if labels is None:
        return
    titles, rows = _original(result)
    separator = "," if result.source is None else result.source.separator
    write_sheet(path, [*titles, cluster_title(titles)], _joined(rows, labels), separator)


def write_profile(result: SolveResult, path: Path) -> None:
    """Write size, means, spreads and what distinguishes each cluster, in the user's units."""
    profile = profile_of(result)
    source = result.source
    separator, decimal = (",", ".") if source is None else (source.separator, source.decimal)
    rows = ([_as_cell(value, decimal) for value in row] for row in profile.rows())
    write_sheet(path, profile.titles(), rows, separator)


def write_sheet(path: Path, titles: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ",") -> None:
    """Write a CSV file that spreadsheets read as UTF-8: it begins with a byte order mark."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\r\n")
    writer.writerow(titles)
    writer.writerows(rows)
    write_atomically(path, buffer.getvalue().encode("utf-8-sig", errors="surrogatepass"))


def _joined(rows: Iterable[Sequence[Any]], labels: Sequence[int | None]) -> Iterator[list[Any]]:
    for row, label in zip(rows, labels, strict=True):
        yield [*row, "" if label is None else label]


def _original(result: SolveResult) -> tuple[list[str], Iterable[Sequence[Any]]]:
    """Return titles and rows as they came; without a table of the user's, the numbers of the points."""
    source, instance = result.source, result.instance
    if source is not None and source.frame is not None:
        frame = source.frame
        index = [] if source.row_names is None else [str(name or "index") for name in frame.index.names]
        table = frame.reset_index() if index else frame
        return [*index, *map(str, frame.columns)], table.itertuples(index=False, name=None)
    if source is not None and source.rows is not None:
        width = len(source.rows[0])
        return list(source.titles or (f"column {c}" for c in range(width))), source.rows
    points = instance.table if result.reduction is None else result.reduction.table
    if instance.geometry != "points":
        return ["point"], ((number,) for number in range(len(points)))
    features = list(instance.feature_names or (f"feature {f}" for f in range(instance.n_features)))
    names = None if source is None else source.row_names
    if names is None:
        return features, (row.tolist() for row in points)
    return ["name", *features], ([name, *row.tolist()] for name, row in zip(names, points, strict=True))


def _as_cell(value: Any, decimal: str) -> str:
    if isinstance(value, float):
        return f"{value:.10g}".replace(".", decimal)
    return str(value)


__all__ = ["CLUSTER", "write_profile", "write_sheet", "write_table"]

"""The options that state a problem, and how they become an instance: shared by ``solve`` and ``verify``."""

from __future__ import annotations

import argparse
import contextlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans.errors import InputError

if TYPE_CHECKING:
    from certimeans.problem.constraints import Constraints
    from certimeans.problem.instance import Instance
    from certimeans.problem.io.points import PointsFile
    from certimeans.problem.table import SourceTable

_MOST_COUNTS = 100


@dataclass(frozen=True, eq=False)
class StatedProblem:
    """What the files say.

    Attributes
    ----------
    instance
        The problem; for several numbers of clusters, with the least of them.
    cluster_counts
        The numbers of clusters asked for.
    source
        The table as it came, with the names of the points and notes on how it was understood.
    """

    instance: Instance
    cluster_counts: tuple[int, ...]
    source: SourceTable


def add_problem_options(parser: argparse.ArgumentParser, *, ranges: bool = False) -> None:
    """Describe what states a problem; ``ranges`` of k may be allowed."""
    add = parser.add_argument_group("the problem").add_argument
    several = "; 2-8 solves for each of 2 to 8 and compares them" if ranges else ""
    add("-k", metavar="K", help=f"number of clusters (default: as the first line of DATA says, if it does){several}")
    add(
        "--constraints",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="must-links and cannot-links: lines 'ML i j' and 'CL i j', CSV or JSON; may be repeated",
    )
    add("--one-based", action="store_true", help="constraint files number the points from 1")
    add("--partial-labels", metavar="FILE", type=Path, help="known classes, one per line; ?, NA or -1 if unknown")
    add("--gram", metavar="FILE", type=Path, help="instead of points: the matrix of their inner products (a kernel)")
    add("--squared-distances", metavar="FILE", type=Path, help="instead of points: the matrix of squared distances")
    _add_size_options(parser)
    _add_table_options(parser)


def _add_size_options(parser: argparse.ArgumentParser) -> None:
    """Describe limits on the sizes of clusters."""
    add = parser.add_argument_group("sizes of clusters").add_argument
    add("--size-min", metavar="N", type=_number, help="every cluster has at least N points")
    add("--size-max", metavar="N", type=_number, help="every cluster has at most N points")
    add("--sizes", metavar="LIST", type=_numbers, help="exact sizes of the clusters, in any order: 50,50,50")
    add(
        "--capacity",
        metavar="COLUMN",
        help="a column of DATA, not a feature then: limits and sizes apply to its sum, not to the number of points",
    )


def _add_table_options(parser: argparse.ArgumentParser) -> None:
    """Describe how the table of points is read, and what is made of its columns."""
    add = parser.add_argument_group("how DATA is read").add_argument
    add(
        "--columns",
        metavar="NAMES",
        help="features to use: names or 0-based numbers, separated by commas; or 'numeric', all columns of numbers",
    )
    add(
        "--names",
        metavar="COLUMN",
        help="the column that names the points; constraints then use these names, also if they are numbers",
    )
    add("--standardize", action="store_true", help="scale every feature to mean 0 and variance 1 first")
    add(
        "--missing",
        choices=("error", "drop", "mean"),
        default="error",
        help="missing values: refuse them (default), leave out their rows, or fill in the mean of the feature",
    )
    add(
        "--decimal",
        metavar="MARK",
        choices=(".", ","),
        default=".",
        help="the decimal mark: a point (default) or a comma",
    )
    add("--sheet", metavar="NAME", help="the sheet of an Excel file (default: the first)")


def _number(text: str) -> float:
    """Read a size; whole numbers as such, however large they are."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number")


def _numbers(text: str) -> list[float]:
    try:
        return [_number(part) for part in text.split(",")]
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; write the sizes like this: 50,50,50") from None


def read_problem(data: Path | None, options: argparse.Namespace) -> StatedProblem:
    """Read the files that the options name: points, or a matrix in their place."""
    import numpy as np  # noqa: PLC0415

    from certimeans.problem.instance import Instance  # noqa: PLC0415
    from certimeans.problem.spread import dominant_feature  # noqa: PLC0415
    from certimeans.problem.table import SourceTable  # noqa: PLC0415
    from certimeans.problem.validation import gram_of_distances  # noqa: PLC0415

    kind, table = _read_table(data, options)
    counts = as_cluster_counts(options.k) if options.k is not None else (table.n_clusters,)
    if counts[0] is None:
        raise InputError("say how many clusters you want with -k")
    source = table.table or SourceTable(len(table.values), np.arange(len(table.values)))
    notes = list(table.notes)
    constraints = _read_constraints(options, source, notes)
    table, sizes = _read_sizes(data, table, source, options)
    constraints |= sizes
    if kind == "points":
        names = table.feature_names
        instance = Instance(table.values, counts[0], constraints, None, names, standardize=options.standardize)  # type: ignore[arg-type]  # None: 1 each
    else:
        matrix = gram_of_distances(table.values) if kind == "squared_distances" else table.values
        instance = Instance(matrix, counts[0], constraints, geometry="gram")
    if options.standardize:
        notes.append("features are scaled to mean 0 and variance 1; cost and bound are about the scaled points")
    elif (dominant := dominant_feature(instance)) is not None:
        notes.append(f"{dominant}; to let all features count alike, use --standardize")
    if len(counts) > 1 and (most := counts[-1]) is not None and most > instance.n_points:
        raise InputError(f"-k {options.k}: there are only {instance.n_points} points")
    source = replace(source, notes=tuple(notes), one_based=options.one_based, links_by_name=options.names is not None)
    return StatedProblem(instance, tuple(k for k in counts if k is not None), source)


def as_cluster_counts(text: str) -> tuple[int, ...]:
    """Read ``-k``: a number, or a range such as 2-8.

    Raises
    ------
    InputError
        If it is neither.
    """
    match = re.fullmatch(r"\s*([+-]?\d{1,9})\s*(?:-\s*(\d{1,9}))?\s*", text)
    if match is None:
        raise InputError(f"-k must be a number of clusters, or a range such as 2-8; got {text!r}")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise InputError(f"-k {text}: the range ends before it begins")
    if match[2] is not None and last - first >= _MOST_COUNTS:
        raise InputError(f"-k {text}: a range may have {_MOST_COUNTS} numbers at most")
    return tuple(range(first, last + 1))


def _read_table(data: Path | None, options: argparse.Namespace) -> tuple[str, PointsFile]:
    """Read the points or the matrix, and say which it is."""
    from certimeans.problem.io.columns import split_columns  # noqa: PLC0415
    from certimeans.problem.io.files import read_points  # noqa: PLC0415

    ways = {
        "points": data,
        "gram": getattr(options, "gram", None),
        "squared_distances": getattr(options, "squared_distances", None),
    }
    given = [(kind, path) for kind, path in ways.items() if path is not None]
    if len(given) != 1:
        raise InputError("give the data once: a file of points, --gram or --squared-distances")
    [(kind, path)] = given
    if kind == "points":
        return kind, read_points(
            path,
            columns=split_columns(options.columns) if options.columns else None,
            names=options.names,
            missing=options.missing,
            decimal=options.decimal,
            sheet=options.sheet,
        )
    if options.columns or options.standardize:
        raise InputError("--columns and --standardize need points, not a matrix")
    if options.names or options.missing != "error":
        raise InputError("--names and --missing need points, not a matrix")
    table = read_points(path, decimal=options.decimal, sheet=options.sheet)
    rows, columns = table.values.shape
    if rows != columns:
        raise InputError(f"{path}: the matrix must be square; got {rows} rows and {columns} columns")
    return kind, table


def _read_sizes(
    data: Path | None, table: PointsFile, source: SourceTable, options: argparse.Namespace
) -> tuple[PointsFile, Constraints]:
    """Return the points without the column of capacities, and what the options say about sizes."""
    import numpy as np  # noqa: PLC0415

    from certimeans.problem.constraints import Constraints  # noqa: PLC0415
    from certimeans.problem.io.files import read_points  # noqa: PLC0415

    capacity = None
    if options.capacity is not None:
        if data is None:
            raise InputError("--capacity names a column of points, which a matrix has not; use a JSON constraint file")
        column = read_points(data, columns=[options.capacity], decimal=options.decimal, sheet=options.sheet)
        capacity = column.values[:, 0][source.row_of_point]
        # A column with the same numbers is that column, or as good as it.
        own = np.flatnonzero((table.values == capacity[:, None]).all(axis=0))[:1]
        if not options.columns and own.size:
            names = table.feature_names
            table = replace(
                table,
                values=np.delete(table.values, own, axis=1),
                feature_names=None if names is None else tuple(np.delete(np.array(names, dtype=object), own)),
            )
            if table.values.shape[1] == 0:
                raise InputError(f"{data}: no feature is left beside the column {options.capacity!r} of capacities")
    return table, Constraints.create(
        size_min=options.size_min, size_max=options.size_max, sizes=options.sizes, capacity=capacity
    )


def _read_constraints(options: argparse.Namespace, source: SourceTable, notes: list[str]) -> Constraints:
    """Read the constraints, which are about rows of the table, and say them about points."""
    from certimeans.problem.constraints import Constraints  # noqa: PLC0415
    from certimeans.problem.io.files import read_constraints, read_labels  # noqa: PLC0415

    constraints = Constraints()
    for path in options.constraints:
        constraints |= read_constraints(
            path,
            n_points=source.n_rows,
            one_based=options.one_based,
            names=source.names,
            names_only=options.names is not None,
            notes=notes,
        )
    if options.partial_labels is not None:
        labels = read_labels(options.partial_labels)
        if len(labels) != source.n_rows:
            raise InputError(
                f"{options.partial_labels}: {len(labels)} labels for {source.n_rows} points; give one for each, "
                "? if it is unknown"
            )
        constraints |= Constraints.create(partial_labels=labels)
    return constraints if source.is_whole else _about_points(constraints, source)


def _about_points(constraints: Constraints, source: SourceTable) -> Constraints:
    """Say constraints about the rows that became points; others must not be mentioned."""
    import numpy as np  # noqa: PLC0415

    from certimeans.problem.constraints import PartialLabels  # noqa: PLC0415
    from certimeans.problem.io.text import shown  # noqa: PLC0415

    constraints.check_range(source.n_rows)
    point = np.full(source.n_rows, -1)
    point[source.row_of_point] = np.arange(len(source.row_of_point))
    for kind, pairs in (("must-link", constraints.must_link), ("cannot-link", constraints.cannot_link)):
        for row in pairs[point[pairs] < 0][:1].tolist():
            name = "" if source.names is None else f" ({shown(source.names[row])})"
            raise InputError(
                f"row {row}{name} was left out for a missing value, but a {kind} mentions it; fill in the value, use "
                "--missing mean, or drop the constraint"
            )
    labels = constraints.partial_labels
    return replace(
        constraints,
        must_link=point[constraints.must_link],
        cannot_link=point[constraints.cannot_link],
        partial_labels=None if labels is None else PartialLabels(labels.codes[source.row_of_point], labels.names),
    )

"""The options that state a problem, and how they become an instance: shared by ``solve`` and ``verify``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans.errors import InputError

if TYPE_CHECKING:
    from certimeans.problem.constraints import Constraints
    from certimeans.problem.instance import Instance
    from certimeans.problem.io.points import PointsFile


@dataclass(frozen=True, eq=False)
class StatedProblem:
    """What the files say.

    Attributes
    ----------
    row_names
        Names of the points, if the file has any.
    notes
        How the file of points was understood, for the user.
    """

    instance: Instance
    row_names: tuple[str, ...] | None
    notes: tuple[str, ...]

    def name_of(self, point: int, *, one_based: bool) -> str:
        """Say which point is meant, in the user's numbering and with its name."""
        number = str(point + 1 if one_based else point)
        return number if self.row_names is None else f"{number} ({self.row_names[point]})"


def add_matrix_options(parser: argparse.ArgumentParser) -> None:
    """Describe what may be given instead of points."""
    add = parser.add_argument
    add("--gram", metavar="FILE", type=Path, help="instead of points: the matrix of their inner products (a kernel)")
    add("--squared-distances", metavar="FILE", type=Path, help="instead of points: the matrix of squared distances")


def add_problem_options(parser: argparse.ArgumentParser) -> None:
    """Describe number of clusters, constraints and treatment of the columns."""
    add = parser.add_argument
    add("-k", metavar="K", type=int, help="number of clusters (default: as the first line of DATA says, if it does)")
    add("--constraints", metavar="FILE", type=Path, action="append", default=[], help="constraints; may be repeated")
    add("--partial-labels", metavar="FILE", type=Path, help="known classes, one per line; ?, NA or -1 if unknown")
    add_size_options(parser)
    add("--one-based", action="store_true", help="constraint files number the points from 1")
    add("--columns", metavar="NAMES", help="features to use: names or 0-based numbers, separated by commas")
    add("--standardize", action="store_true", help="scale every feature to mean 0 and variance 1 first")


def add_size_options(parser: argparse.ArgumentParser) -> None:
    """Describe limits on the sizes of clusters."""
    add = parser.add_argument
    add("--size-min", metavar="N", type=_number, help="every cluster has at least N points")
    add("--size-max", metavar="N", type=_number, help="every cluster has at most N points")
    add("--sizes", metavar="LIST", type=_numbers, help="exact sizes of the clusters, in any order: 50,50,50")
    add(
        "--capacity",
        metavar="COLUMN",
        help="a column of DATA, not a feature then: limits and sizes apply to its sum, not to the number of points",
    )


def _number(text: str) -> float:
    """Read a size; whole numbers as such, however large they are."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _numbers(text: str) -> list[float]:
    return [_number(part) for part in text.split(",")]


def read_problem(data: Path | None, options: argparse.Namespace) -> StatedProblem:
    """Read the files that the options name: points, or a matrix (see :func:`add_matrix_options`) in their place."""
    from certimeans.problem.instance import Instance  # noqa: PLC0415
    from certimeans.problem.validation import gram_of_distances  # noqa: PLC0415

    kind, table = _read_table(data, options)
    n_clusters = options.k if options.k is not None else table.n_clusters
    if n_clusters is None:
        raise InputError("say how many clusters you want with -k")
    constraints = _read_constraints(options, len(table.values))
    table, sizes = _read_sizes(data, table, options)
    constraints |= sizes
    if kind == "points":
        names = table.feature_names
        instance = Instance(table.values, n_clusters, constraints, None, names, standardize=options.standardize)  # type: ignore[arg-type]  # None: 1 each
    else:
        matrix = gram_of_distances(table.values) if kind == "squared_distances" else table.values
        instance = Instance(matrix, n_clusters, constraints, geometry="gram")
    notes = table.notes
    if options.standardize:
        notes = (*notes, "features are scaled to mean 0 and variance 1; cost and bound are about the scaled points")
    return StatedProblem(instance, table.row_names, notes)


def _read_table(data: Path | None, options: argparse.Namespace) -> tuple[str, PointsFile]:
    """Read the points or the matrix, and say which it is."""
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
        return kind, read_points(path, columns=options.columns.split(",") if options.columns else None)
    if options.columns or options.standardize:
        raise InputError("--columns and --standardize need points, not a matrix")
    table = read_points(path)
    rows, columns = table.values.shape
    if rows != columns:
        raise InputError(f"{path}: the matrix must be square; got {rows} rows and {columns} columns")
    return kind, table


def _read_sizes(data: Path | None, table: PointsFile, options: argparse.Namespace) -> tuple[PointsFile, Constraints]:
    """Return the points without the column of capacities, and what the options say about sizes."""
    import numpy as np  # noqa: PLC0415

    from certimeans.problem.constraints import Constraints  # noqa: PLC0415
    from certimeans.problem.io.files import read_points  # noqa: PLC0415

    capacity = None
    if options.capacity is not None:
        if data is None:
            raise InputError("--capacity names a column of points, which a matrix has not; use a JSON constraint file")
        capacity = read_points(data, columns=[options.capacity]).values[:, 0]
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


def _read_constraints(options: argparse.Namespace, n_points: int) -> Constraints:
    from certimeans.problem.constraints import Constraints  # noqa: PLC0415
    from certimeans.problem.io.files import read_constraints, read_labels  # noqa: PLC0415

    constraints = Constraints()
    for path in options.constraints:
        constraints |= read_constraints(path, n_points=n_points, one_based=options.one_based)
    if options.partial_labels is not None:
        constraints |= Constraints.create(partial_labels=read_labels(options.partial_labels))
    return constraints

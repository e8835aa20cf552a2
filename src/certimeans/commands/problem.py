"""The options that state a problem, and how they become an instance: shared by ``solve`` and ``verify``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans.errors import InputError

if TYPE_CHECKING:
    from certimeans.problem.instance import Instance


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


def add_problem_options(parser: argparse.ArgumentParser) -> None:
    """Describe number of clusters, constraints and treatment of the columns."""
    add = parser.add_argument
    add("-k", metavar="K", type=int, help="number of clusters (default: as the first line of DATA says, if it does)")
    add("--constraints", metavar="FILE", type=Path, action="append", default=[], help="constraints; may be repeated")
    add("--partial-labels", metavar="FILE", type=Path, help="known classes, one a line; ?, NA or -1 if unknown")
    add("--one-based", action="store_true", help="constraint files number the points from 1")
    add("--columns", metavar="NAMES", help="features to use: names or 0-based numbers, separated by commas")
    add("--standardize", action="store_true", help="scale every feature to mean 0 and variance 1 first")


def read_problem(data: Path, options: argparse.Namespace) -> StatedProblem:
    """Read the files that the options name."""
    from certimeans.problem.constraints import Constraints  # noqa: PLC0415
    from certimeans.problem.instance import Instance  # noqa: PLC0415
    from certimeans.problem.io.files import read_constraints, read_labels, read_points  # noqa: PLC0415
    from certimeans.problem.scaling import standardized  # noqa: PLC0415

    points = read_points(data, columns=options.columns.split(",") if options.columns else None)
    n_clusters = options.k if options.k is not None else points.n_clusters
    if n_clusters is None:
        raise InputError("say how many clusters you want with -k")
    constraints = Constraints()
    for path in options.constraints:
        constraints |= read_constraints(path, n_points=len(points.values), one_based=options.one_based)
    if options.partial_labels is not None:
        constraints |= Constraints.create(partial_labels=read_labels(options.partial_labels))
    values = standardized(points.values) if options.standardize else points.values
    instance = Instance(values, n_clusters, constraints, feature_names=points.feature_names)
    notes = (*points.notes, "features were scaled to mean 0 and variance 1") if options.standardize else points.notes
    return StatedProblem(instance, points.row_names, notes)

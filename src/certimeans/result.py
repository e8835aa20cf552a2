"""What a solve returns."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.presolve.weightless import WithoutWeightless
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from certimeans.problem.table import SourceTable
from certimeans.report.summary import describe_parts, plain_data_of, summary_of
from certimeans.search.limits import Progress
from certimeans.search.statistics import RunStatistics
from certimeans.search.tree import Tree, TreeNode
from certimeans.status import SolveStatus, relative_gap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from certimeans.ambiguity import AmbiguousPairs
    from certimeans.prices import ConstraintPrices

__all__ = ["Result", "SolveResult", "SolveStatus", "relative_gap"]


@dataclass(frozen=True, eq=False)
class SolveResult:
    """A clustering with a guarantee.

    Printed, it is its :meth:`summary`; a notebook shows the same with a picture.

    Attributes
    ----------
    status
        Why the solver stopped; see :class:`SolveStatus`.
    clustering
        The best clustering found, or ``None``.
    lower_bound
        Proven: every feasible clustering costs at least this.
    statistics
        What the run did, and how long it took.
    target_gap
        The gap that was asked for.
    message
        What the user should know besides; usually empty.
    history
        How incumbent and bound moved over time.
    search_tree
        All nodes and what proves their bounds: what :meth:`save` makes the certificate from.
    is_complete
        Whether the search ended by itself: nothing was left to do.
    reduction
        What was left out before the instance was built: points of weight zero.
    source
        The table that the points came from, with their names, if it is known.
    has_proof
        Whether the search tree is there; a result that was loaded has none, and cannot be saved.
    """

    instance: Instance
    status: SolveStatus
    clustering: Clustering | None
    lower_bound: float
    statistics: RunStatistics
    target_gap: float
    seed: int
    message: str = ""
    history: tuple[Progress, ...] = ()
    search_tree: Tree = field(default_factory=Tree)
    reduction: WithoutWeightless | None = None
    is_complete: bool = True
    source: SourceTable | None = None
    has_proof: bool = True

    @property
    def tree(self) -> tuple[TreeNode, ...]:
        """The nodes of the search tree, by number."""
        return tuple(self.search_tree.nodes)

    @property
    def labels(self) -> IntArray | None:
        """Cluster of each point; ``None`` without a clustering.

        Numbered by first appearance among the points that have a weight; the others get the nearest centre.
        """
        if self.clustering is None or self.reduction is None:
            return None if self.clustering is None else self.clustering.labels
        return self.reduction.restore_labels(self.clustering)

    @property
    def centres(self) -> FloatArray | None:
        """Centre of each cluster."""
        return None if self.clustering is None else self.clustering.centres

    @property
    def objective(self) -> float:
        """Cost of the clustering; infinite without one."""
        return float("inf") if self.clustering is None else self.clustering.cost

    @property
    def gap(self) -> float:
        """Proven relative gap, (objective - lower_bound) / objective."""
        return relative_gap(self.objective, self.lower_bound)

    @property
    def nodes(self) -> int:
        """Number of nodes evaluated."""
        return self.statistics.nodes

    @property
    def size(self) -> int:
        """Number of super-points at the root."""
        return self.statistics.size

    @property
    def cuts(self) -> int:
        """Cuts at the end of the root node."""
        return self.statistics.cuts

    @property
    def rounds(self) -> int:
        """Cutting-plane rounds over all nodes."""
        return self.statistics.rounds

    @property
    def parts(self) -> int:
        """Number of parts in which the points were bounded: 1 if all were bounded together."""
        return 1 if self.statistics.parts is None else self.statistics.parts.count

    @property
    def part_size(self) -> int | None:
        """Super-points in the largest part; ``None`` if all were bounded together."""
        return None if self.statistics.parts is None else self.statistics.parts.size

    @property
    def seconds(self) -> float:
        """Wall time."""
        return self.statistics.seconds

    @property
    def root_lower_bound(self) -> float:
        """What the root node proved."""
        return self.statistics.root_lower_bound

    @property
    def root_seconds(self) -> float:
        """The time that the root node took."""
        return self.statistics.root_seconds

    @property
    def root_gap(self) -> float:
        """The gap that the root node's bound leaves."""
        return relative_gap(self.objective, self.root_lower_bound)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the data: how a file was read, what is missing, which feature dominates."""
        return () if self.source is None else self.source.notes

    def name_of(self, point: int) -> str:
        """Say which point of the instance is meant, by the user's number and name for it."""
        if self.reduction is not None:
            point = int(self.reduction.kept[point])
        return str(point) if self.source is None else self.source.name_of(point)

    def short_name_of(self, point: int) -> str:
        """Return the user's name of a point of the instance, or the user's number."""
        if self.reduction is not None:
            point = int(self.reduction.kept[point])
        return str(point) if self.source is None else self.source.short_name_of(point)

    def number_of(self, point: int) -> int:
        """Return the row, from 0, that a point of the instance has in the user's table."""
        if self.reduction is not None:
            point = int(self.reduction.kept[point])
        return point if self.source is None else int(self.source.row_of_point[point])

    def row_labels(self) -> list[int | None] | None:
        """Return the cluster of each row of the user's table; ``None`` for rows that were left out."""
        labels = self.labels
        if labels is None or self.source is None:
            return None if labels is None else labels.tolist()
        return self.source.spread(labels.tolist())

    def summary(self) -> str:
        """Say in a few lines what was solved and what is proven."""
        return summary_of(self)

    def describe_parts(self) -> str:
        """Say in a sentence how the points were bounded by parts; nothing if they were bounded together."""
        return describe_parts(self)

    __repr__ = summary

    def _repr_html_(self) -> str:
        """Show the summary and the clusters in a notebook."""
        from certimeans.report.notebook import notebook_view  # noqa: PLC0415  # the picture may need matplotlib

        return notebook_view(self)

    def save(self, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> None:
        """Write a results directory: result, labels, events, certificate and a report for reading.

        ``certimeans verify FOLDER`` re-proves it from the data.

        Parameters
        ----------
        folder
            Where to; it is made if it is not there.
        overwrite
            Whether to replace another result that is there; otherwise it is an error.
        report
            Whether to write ``report.html``, which takes a few seconds: it draws pictures, and searches for what plain
            k-means would have found.

        Raises
        ------
        InputError
            If the folder holds another result, or cannot be written.
        """
        from certimeans.report.directory import prepare_directory, write_directory  # noqa: PLC0415

        if not self.has_proof:
            raise InputError("this result has no proof with it, so it cannot be saved; copy the folder it came from")
        prepare_directory(folder, overwrite=overwrite)
        write_directory(self, folder, report=report)

    def to_frame(self) -> Any:
        """Return the rows that the points came from as a DataFrame, with a column ``cluster``.

        The user's own DataFrame or file with all its columns, if the points came from one; rows that were left out for
        missing values have no cluster.

        Raises
        ------
        InputError
            If pandas is not installed, which comes with ``certimeans[tables]``.
        """
        from certimeans.analysis.frames import as_frame  # noqa: PLC0415

        return as_frame(self)

    def profile(self) -> Any:
        """Describe each cluster in the user's own units: a DataFrame with a row per cluster.

        Size, share of the weight, mean and spread (standard deviation) of each feature, and what distinguishes the
        cluster: the features whose mean is farthest from that of all points, in standard deviations of all points.

        Raises
        ------
        InputError
            If there is no clustering, or pandas is not installed, which comes with ``certimeans[tables]``.
        """
        from certimeans.analysis.profile import profile_of  # noqa: PLC0415

        return profile_of(self).to_frame()

    def constraint_prices(
        self, *, gap: float | None = None, time_limit: float | None = None, n_jobs: int | None = 1
    ) -> ConstraintPrices:
        """Enclose what each constraint costs: the optimum with it less the optimum without it.

        Each must-link and cannot-link is a problem to solve, from the clustering at hand; so are diameter, split and
        partial labels, as a whole, all constraints together, and groups in which constraints imply each other.

        Parameters
        ----------
        gap
            Relative gap to which optima are enclosed; as for this result if not given.
        time_limit
            Seconds for all of it; intervals are wide where it was too short. Without it, each constraint may take as
            long as this result took, at least ten seconds.
        n_jobs
            Constraints that are priced at the same time, in processes; -1 for all cores.

        Returns
        -------
        ConstraintPrices
            A sequence, the highest price first; printed, it is a table.

        Raises
        ------
        InputError
            If there is no clustering, or an argument is not usable.
        """
        from certimeans.prices import price_constraints  # noqa: PLC0415

        return price_constraints(self, gap=gap, time_limit=time_limit, n_jobs=n_jobs)

    def ambiguous_pairs(
        self,
        count: int = 10,
        *,
        decided: float = 5.0,
        gap: float | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = 1,
    ) -> AmbiguousPairs:
        """Find the pairs of points that the data decide least, and what either answer would cost.

        Parameters
        ----------
        count
            How many pairs are wanted; there may be fewer.
        decided
            Pairs whose other answer is proven to cost more than this many per cent are decided and left out.
        gap, time_limit, n_jobs
            As for :meth:`constraint_prices`.

        Returns
        -------
        AmbiguousPairs
            A sequence, the pair first whose other answer costs least; printed, it is a table.

        Raises
        ------
        InputError
            If there is no clustering, or an argument is not usable.
        """
        from certimeans.ambiguity import find_ambiguous_pairs  # noqa: PLC0415

        return find_ambiguous_pairs(self, count, decided=decided, gap=gap, time_limit=time_limit, n_jobs=n_jobs)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, as ``certimeans solve --json`` prints it."""
        return plain_data_of(self)

    def to_json(self) -> str:
        """Return the result as one JSON object."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def plot_clusters(self, ax: Axes | None = None, *, compare: bool = False) -> Axes:
        """Draw the points by cluster, with their constraints.

        Parameters
        ----------
        ax
            Where to draw; without it, on a new figure. In a notebook, and wherever ``matplotlib.pyplot`` was imported
            before, the figure is pyplot's and shown as its others are; elsewhere pyplot knows nothing of it, and
            ``ax.figure.savefig(...)`` saves it.
        compare
            Whether to ring the points that plain k-means, without the constraints, puts elsewhere. This searches for
            such a clustering, for up to three seconds.

        Raises
        ------
        InputError
            If matplotlib is not installed, which comes with ``certimeans[plot]``, or if the problem has no points.
        """
        from certimeans.report import plots  # noqa: PLC0415

        return plots.plot_clusters(self, ax, compare=compare)

    def plot_bounds(self, ax: Axes | None = None) -> Axes:
        """Draw the cost of the best clustering and the proven bound over time; see :meth:`plot_clusters`."""
        from certimeans.report import plots  # noqa: PLC0415

        return plots.plot_bounds(self, ax)

    def plot_tree(self, ax: Axes | None = None) -> Axes:
        """Draw the search tree; see :meth:`plot_clusters`."""
        from certimeans.report import plots  # noqa: PLC0415

        return plots.plot_tree(self, ax)


Result = SolveResult
"""The same under a shorter name."""

"""Several numbers of clusters side by side; which one to take stays the user's choice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from numbers import Integral
from typing import TYPE_CHECKING, Any

from certimeans._typing import IntArray
from certimeans.analysis.choices import Choice, agreement, silhouette, start_for_next
from certimeans.analysis.frames import pandas
from certimeans.errors import ArgumentError, InfeasibleError
from certimeans.printing import fixed_percent_up, text_down, text_up
from certimeans.result import SolveResult, SolveStatus
from certimeans.solver import solve
from certimeans.status import finite_or_none

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTHS = (14, 14, 9, 9, 10, 6)


class RangeResult(Mapping[int, SolveResult]):
    """Results by number of clusters.

    Attributes
    ----------
    infeasible
        Why there is no result for some numbers: the constraints contradict each other there.
    """

    def __init__(self, results: Mapping[int, SolveResult], infeasible: Mapping[int, InfeasibleError]) -> None:
        self._results = dict(results)
        self.infeasible = dict(infeasible)
        self._choices: list[Choice] | None = None

    def __getitem__(self, k: int) -> SolveResult:
        if k in self.infeasible:
            raise self.infeasible[k]
        return self._results[k]

    def __iter__(self) -> Iterator[int]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def choices(self) -> list[Choice]:
        """Return one row per number of clusters."""
        if self._choices is None:
            self._choices = list(self._rows())
        return self._choices

    def table(self) -> Any:
        """Return a DataFrame with a row per number of clusters; see :class:`Choice` for its columns."""
        return pandas().DataFrame(self.choices(), columns=list(Choice._fields)).set_index("k", drop=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw cost and proven interval over k; where the curve bends, more clusters explain little more."""
        from certimeans.report.choice_plots import plot_choices  # noqa: PLC0415

        return plot_choices(self.choices(), ax)

    def save(self, folder: Any, *, overwrite: bool = False) -> None:
        """Write a page that compares the numbers, a table, and a folder ``k2``, ``k3``, ... for each result."""
        from certimeans.report.choices import prepare_choices, write_choices  # noqa: PLC0415

        prepare_choices(folder, [*self._results], overwrite=overwrite)
        write_choices(self, folder)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as ``certimeans solve -k 2-8 --json`` prints it."""
        return {
            "k": [choice.k for choice in self.choices()],
            "table": [choice._asdict() for choice in self.choices()],
            "results": {str(k): result.to_dict() for k, result in self._results.items()},
            "infeasible": {str(k): error.conflict.links for k, error in self.infeasible.items()},
        }

    def to_json(self) -> str:
        """Return everything as one JSON object."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def summary(self) -> str:
        """Return the table as text."""
        head = ("cost", "lower bound", "gap %", "explained", "silhouette", "ARI")
        lines = [f"{'k':>3} " + " ".join(f"{title:>{width}}" for title, width in zip(head, _WIDTHS, strict=True))]
        for c in self.choices():
            cells = (
                "-" if c.cost is None else text_up(c.cost),
                "-" if c.lower_bound is None else text_down(c.lower_bound),
                "-" if c.gap is None else fixed_percent_up(c.gap),
                _number(None if c.explained is None else 100 * c.explained, ".1f", " %"),
                _number(c.silhouette, ".3f"),
                _number(c.agreement, ".2f"),
            )
            row = " ".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
            lines.append(f"{c.k:3d} {row}  {c.status}")
        lines += [
            "More clusters explain more, so the least cost is not the best. Explained: share of the scatter.",
            "Silhouette: from -1 to 1, large where clusters are apart. ARI: agreement with the k before.",
        ]
        return "\n".join(lines)

    __repr__ = summary

    def _rows(self) -> Iterator[Choice]:
        before: IntArray | None = None
        for k in sorted({*self._results, *self.infeasible}):
            if k in self.infeasible:
                yield Choice(k, str(SolveStatus.INFEASIBLE))
                continue
            result = self._results[k]
            labels = None if result.clustering is None else result.clustering.labels
            total = result.instance.total_scatter
            yield Choice(
                k,
                str(result.status),
                finite_or_none(result.objective),
                finite_or_none(result.lower_bound),
                finite_or_none(result.gap),
                1 - result.objective / total if labels is not None and total > 0 else None,
                None if labels is None else silhouette(result.instance, labels),
                None if labels is None or before is None else agreement(labels, before),
                result.seconds,
            )
            before = labels if labels is not None else before


def solve_range(points: Any, n_clusters: Iterable[int], **options: Any) -> RangeResult:
    """Solve the same problem for several numbers of clusters.

    Parameters
    ----------
    points
        As for :func:`~certimeans.solve`; ``None`` if ``gram`` or ``squared_distances`` is among the options.
    n_clusters
        The numbers, e.g. ``range(2, 9)``; they are solved from the smallest on, and each result starts the next.
    options
        Arguments of :func:`~certimeans.solve`; ``time_limit`` and ``max_nodes`` are for each number.

    Raises
    ------
    InfeasibleError
        If the constraints contradict each other for every number.
    InputError
        If an argument is not usable; the message names it.
    """
    given = options.pop("initial_labels", None)
    numbers = _checked(n_clusters)
    _refuse_more_than_points(max(numbers), points, options)
    return solve_each(
        numbers, lambda k, start: solve(points, k, initial_labels=given if start is None else start, **options)
    )


def _refuse_more_than_points(most: int, points: Any, options: Mapping[str, Any]) -> None:
    """Refuse a number that is too large before the others are solved; what has no length is refused by ``solve``."""
    ways = (points, options.get("gram"), options.get("squared_distances"))
    given = next((data for data in ways if data is not None), ())
    weights = options.get("sample_weight")
    values = getattr(given, "values", given)  # a file's points, or a DataFrame's
    n_points = len(values) if hasattr(values, "__len__") and len(values) else most
    if isinstance(weights, Sized) and len(weights) == n_points:
        n_points = sum(weight != 0 for weight in weights)  # type: ignore[attr-defined]  # one number per point
    if most > n_points:
        raise ArgumentError("n_clusters", f"goes up to {most}, but there are only {n_points} points")


def solve_each(counts: Iterable[int], solve_one: Callable[[int, IntArray | None], SolveResult]) -> RangeResult:
    """Solve for each number of clusters, from the smallest on, and pass each time a clustering to start from.

    After an interruption the rest is left out.
    """
    results: dict[int, SolveResult] = {}
    infeasible: dict[int, InfeasibleError] = {}
    start: IntArray | None = None
    for k in _checked(counts):
        try:
            result = solve_one(k, start)
        except InfeasibleError as error:
            infeasible[k] = error
            continue
        results[k] = result
        if result.status is SolveStatus.INTERRUPTED and not result.is_complete:
            break
        start = start_for_next(result)
    if not results:
        raise infeasible[max(infeasible)]
    return RangeResult(results, infeasible)


def _checked(counts: Iterable[int]) -> list[int]:
    """Return the numbers of clusters, each once, the smallest first."""
    if not isinstance(counts, Iterable):
        raise ArgumentError("n_clusters", f"must be one or more integers, such as range(2, 9); got {counts!r}")
    numbers = list(counts)
    wrong = [k for k in numbers if not isinstance(k, Integral) or isinstance(k, bool)]
    if wrong or not numbers:
        raise ArgumentError("n_clusters", f"must be one or more integers, such as range(2, 9); got {numbers!r}")
    return sorted({int(k) for k in numbers})


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value:{form}}{unit}"

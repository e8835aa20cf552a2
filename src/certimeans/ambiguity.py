"""What to ask next: the pairs of points that the data decide least, with what either answer would cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, overload

from certimeans._typing import IntArray
from certimeans.analysis.doubtful import Pair, doubtful_pairs
from certimeans.analysis.frames import pandas
from certimeans.analysis.questions import Answer, Change, Interval, Link, Questions
from certimeans.arguments import as_n_jobs
from certimeans.errors import ArgumentError, InputError
from certimeans.prices import interval_in_words
from certimeans.printing import percent_down, percent_up
from certimeans.problem.rounding import rounded_down, rounded_up
from certimeans.result import SolveResult

_SPARE = 1.5
"""Pairs to look at for each one asked for: some turn out to be decided."""


@dataclass(frozen=True)
class AmbiguousPair:
    """Two points, and what it would cost to put them together or apart.

    Attributes
    ----------
    i, j, name_i, name_j
        The points, by the user's numbers and names.
    now
        Whether the clustering has them ``"together"`` or ``"apart"``.
    together, apart
        Proven: the least cost of a clustering with this answer lies between these.
    percent_low, percent_high
        How much more the other answer costs than the clustering at hand, in per cent; a proven interval.
    """

    i: int
    j: int
    name_i: str
    name_j: str
    now: Literal["together", "apart"]
    together: Interval
    apart: Interval
    percent_low: float
    percent_high: float
    points: Pair = field(repr=False)
    answer: Answer = field(repr=False, compare=False)

    def percent(self) -> str:
        """Write what the other answer costs more, rounded outwards."""
        low, high = percent_down(self.percent_low / 100), percent_up(self.percent_high / 100)
        return low if low == high else f"{low.removesuffix(' %')} to {high}"


class AmbiguousPairs(Sequence[AmbiguousPair]):
    """Pairs to ask about, those first whose other answer costs least.

    Attributes
    ----------
    is_complete
        Whether every pair was looked at; otherwise the user interrupted, and some intervals are wide.
    """

    def __init__(self, pairs: Sequence[AmbiguousPair], *, is_complete: bool = True) -> None:
        self._pairs = list(pairs)
        self.is_complete = is_complete

    @overload
    def __getitem__(self, index: int) -> AmbiguousPair: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[AmbiguousPair]: ...

    def __getitem__(self, index: int | slice) -> AmbiguousPair | Sequence[AmbiguousPair]:
        return self._pairs[index]

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Iterator[AmbiguousPair]:
        return iter(self._pairs)

    @staticmethod
    def titles() -> list[str]:
        """Return the columns of :meth:`rows`; ``type`` is for the answers."""
        intervals = [f"{answer}_{end}" for answer in ("together", "apart") for end in ("low", "high")]
        return ["i", "j", "type", "name_i", "name_j", "now", *intervals, "percent_low", "percent_high"]

    def rows(self) -> list[list[Any]]:
        """Return one row per pair, without an answer; an infinite cost, of an answer that is impossible, is empty."""
        return [
            [
                *(pair.i, pair.j, "", pair.name_i, pair.name_j, pair.now),
                *("" if math.isinf(end) else end for end in (*pair.together, *pair.apart)),
                *("" if math.isinf(end) else end for end in (pair.percent_low, pair.percent_high)),
            ]
            for pair in self._pairs
        ]

    def to_frame(self) -> Any:
        """Return a DataFrame with a row per pair; fill in ``type`` (y or n), and pass the pairs as constraints."""
        return pandas().DataFrame(self.rows(), columns=self.titles())

    def summary(self) -> str:
        """Return a table as text."""
        if not self._pairs:
            return "no pair is worth asking about: for each one looked at, the data decide"
        titles = [f"{pair.name_i} – {pair.name_j}" for pair in self._pairs]
        width = max(map(len, titles))
        lines = [
            f"{'pair':{width}}  {'now':8}  {'together would cost':>25}  {'apart would cost':>25}  the other answer"
        ]
        for pair, title in zip(self._pairs, titles, strict=True):
            lines.append(
                f"{title:{width}}  {pair.now:8}  {interval_in_words(pair.together):>25}  "
                f"{interval_in_words(pair.apart):>25}  {pair.percent()} more"
            )
        if not self.is_complete:
            lines.append("interrupted: little is known about pairs that were not looked at any more")
        return "\n".join(lines)

    __repr__ = summary


def find_ambiguous_pairs(
    result: SolveResult,
    count: int = 10,
    *,
    decided: float = 5.0,
    gap: float | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = 1,
    without: Collection[Pair] = (),
    tell: Callable[[int, int], None] | None = None,
) -> AmbiguousPairs:
    """Find pairs to ask about; see ``SolveResult.ambiguous_pairs``.

    Parameters
    ----------
    without
        Pairs of points of the instance that are not to be asked about.
    tell
        Called with the number of pairs that were looked at, and with that of all.
    """
    if result.clustering is None:
        raise InputError("there is no clustering, so there is nothing to ask about")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ArgumentError("count", f"must be a positive integer; got {count!r}")
    if not decided >= 0:
        raise ArgumentError("decided", f"must be a number of per cent, zero or more; got {decided!r}")
    questions = Questions(result, gap=gap, time_limit=time_limit, n_jobs=as_n_jobs(n_jobs))
    pairs = doubtful_pairs(result.instance, result.clustering.labels, math.ceil(_SPARE * count) + 1, set(without))
    labels = result.clustering.labels
    changes = [Change(add=_other_answer(pair, labels)) for pair in pairs]
    enough = questions.cost.high * (1 + decided / 100)

    def count_up(done: int) -> None:
        if tell is not None:
            tell(done, len(changes))

    answers = questions.ask(changes, count_up, enough=enough)
    found = [_ambiguous(result, questions, pair, answer) for pair, answer in zip(pairs, answers, strict=True)]
    open_ones = [pair for pair in found if pair.percent_low <= decided and not pair.answer.is_impossible]
    open_ones.sort(key=lambda pair: (pair.percent_high, pair.percent_low))
    return AmbiguousPairs(open_ones[:count], is_complete=not any(answer.was_stopped for answer in answers))


def _other_answer(pair: Pair, labels: IntArray) -> Link:
    i, j = pair
    return ("cannot-link" if labels[i] == labels[j] else "must-link"), i, j


def _ambiguous(result: SolveResult, questions: Questions, pair: Pair, answer: Answer) -> AmbiguousPair:
    i, j = pair
    is_together = bool(questions.labels[i] == questions.labels[j])
    least, most = questions.cost
    other = Interval(max(least, answer.cost.low), answer.cost.high)  # one more constraint makes nothing cheaper
    percent_low, percent_high = 0.0, math.inf
    if math.isfinite(other.low) and most > 0:
        percent_low = max(0.0, rounded_down(100 * (Fraction(other.low) - Fraction(most)) / Fraction(most)))
    if math.isinf(other.low):
        percent_low = math.inf
    if math.isfinite(other.high) and least > 0:
        percent_high = max(0.0, rounded_up(100 * (Fraction(other.high) - Fraction(least)) / Fraction(least)))
    return AmbiguousPair(
        result.number_of(i),
        result.number_of(j),
        result.short_name_of(i),
        result.short_name_of(j),
        "together" if is_together else "apart",
        questions.cost if is_together else other,
        other if is_together else questions.cost,
        percent_low,
        percent_high,
        pair,
        answer,
    )

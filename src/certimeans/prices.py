"""What each constraint costs: the optimum with it less the optimum without it, as a proven interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from certimeans._typing import IntArray
from certimeans.analysis.frames import pandas
from certimeans.analysis.questions import Answer, Change, Interval, Link, Questions, StatedKind, opposite, stated_links
from certimeans.arguments import as_n_jobs
from certimeans.errors import InputError
from certimeans.presolve.graph import connected
from certimeans.printing import percent_down, percent_up, text_down, text_up
from certimeans.problem.instance import Instance
from certimeans.problem.rounding import rounded_down, rounded_up
from certimeans.result import SolveResult
from certimeans.status import finite_or_none

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Effect = Literal["binds", "costs nothing", "implied", "undecided"]

_IN_WORDS: dict[Effect, str] = {
    "binds": "binds: without it, a cheaper clustering exists",
    "costs nothing": "costs nothing: proven that no cheaper clustering exists without it",
    "implied": "costs nothing, because other constraints imply it",
    "undecided": "undecided: it costs no more than this, perhaps nothing",
}
_MOST_LOOKED_AT = 12
"""Pairs of a group that seems to cost nothing which are looked at one by one."""
_TITLES = {"partial_labels": "all known classes", "cluster_sizes": "the limits on sizes"}


class ConstraintPrice(NamedTuple):
    """What a constraint, or several together, cost.

    Attributes
    ----------
    kind
        ``"must-link"``, ``"cannot-link"``, ``"diameter"``, ``"split"``, ``"partial_labels"`` or ``"cluster_sizes"``;
        ``"group"`` for several pairs, ``"all"`` for all constraints together.
    links
        The pairs, as (kind, i, j) with the user's numbers of the points.
    names
        The same with the points' names.
    effect
        ``"binds"``: the price is above 0. ``"costs nothing"``: it is exactly 0, which is proven. ``"implied"``: the
        same, because the other constraints leave no other way. ``"undecided"``: it may be 0 or not.
    low, high
        Proven: the price, in units of cost, lies between these.
    percent_low, percent_high
        The same in per cent of the optimal cost; the upper end is infinite where nothing is proven about that.
    """

    kind: str
    links: tuple[Link, ...]
    names: tuple[tuple[str, str], ...]
    effect: Effect
    low: float
    high: float
    percent_low: float
    percent_high: float

    def title(self, longest: int = 60) -> str:
        """Name the constraint in a line."""
        if self.kind in {"must-link", "cannot-link"}:
            sign = "=" if self.kind == "must-link" else "≠"
            return f"{self.names[0][0]} {sign} {self.names[0][1]}"
        if self.kind == "all":
            return "all constraints together"
        if self.kind != "group":
            return _TITLES.get(self.kind, f"the {self.kind}")
        signs = ["=" if kind == "must-link" else "≠" for kind, _, _ in self.links]
        pairs = [f"{a} {sign} {b}" for sign, (a, b) in zip(signs, self.names, strict=True)]
        more = f", ... ({len(pairs)} pairs)"
        for shown in range(len(pairs), 0, -1):
            text = f"together: {', '.join(pairs[:shown])}{more if shown < len(pairs) else ''}"
            if len(text) <= longest:
                return text
        return f"together: {pairs[0]}{more if len(pairs) > 1 else ''}"

    def price(self) -> str:
        """Write the interval, rounded outwards."""
        return interval_in_words(Interval(self.low, self.high))

    def percent(self) -> str:
        """Write the interval in per cent, rounded outwards."""
        if self.high == 0:
            return "0 %"
        low = percent_down(self.percent_low / 100)
        high = percent_up(self.percent_high / 100)
        return low if low == high else f"{low.removesuffix(' %')} to {high}"


class ConstraintPrices(Sequence[ConstraintPrice]):
    """The prices of all constraints, the highest first.

    Attributes
    ----------
    groups
        Prices of several constraints together: all of them, and those of which single ones cost nothing because the
        others imply them.
    cost
        The optimum with all constraints lies between these.
    is_complete
        Whether every question was asked; otherwise the user interrupted, and some intervals are wide.
    """

    def __init__(
        self, prices: Sequence[ConstraintPrice], groups: Sequence[ConstraintPrice], cost: Interval, *, is_complete: bool
    ) -> None:
        self._prices = sorted(prices, key=lambda price: (-price.low, -price.high))
        self.groups = tuple(groups)
        self.cost = cost
        self.is_complete = is_complete

    @overload
    def __getitem__(self, index: int) -> ConstraintPrice: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ConstraintPrice]: ...

    def __getitem__(self, index: int | slice) -> ConstraintPrice | Sequence[ConstraintPrice]:
        return self._prices[index]

    def __len__(self) -> int:
        return len(self._prices)

    def __iter__(self) -> Iterator[ConstraintPrice]:
        return iter(self._prices)

    @property
    def binding(self) -> tuple[ConstraintPrice, ...]:
        """The constraints whose price is proven to be above 0."""
        return tuple(price for price in self._prices if price.effect == "binds")

    def to_frame(self) -> Any:
        """Return a DataFrame with a row per constraint."""
        return pandas().DataFrame(self.rows(), columns=self.titles())

    @staticmethod
    def titles() -> list[str]:
        """Return the columns of :meth:`rows`."""
        return ["kind", "i", "j", "name_i", "name_j", "effect", "low", "high", "percent_low", "percent_high"]

    def rows(self) -> list[list[Any]]:
        """Return one row per constraint, then one per group, whose pairs are not listed."""
        rows = []
        for price in (*self._prices, *self.groups):
            is_pair = price.kind in {"must-link", "cannot-link"}
            pair = [*price.links[0][1:], *price.names[0]] if is_pair else ["", "", price.title(200), ""]
            numbers = [price.low, price.high, price.percent_low, price.percent_high]
            rows.append([price.kind, *pair, price.effect, *numbers])
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "cost": [finite_or_none(end) for end in self.cost],
            "is_complete": self.is_complete,
            "prices": [_plain(price) for price in self._prices],
            "groups": [_plain(price) for price in self.groups],
        }

    def summary(self) -> str:
        """Say in a table what the constraints cost."""
        if not self._prices and not self.groups:
            return "there are no constraints, so none costs anything"
        low, high = text_down(self.cost.low), text_up(self.cost.high)
        lines = [f"the optimum with all constraints lies between {low} and {high}"]
        everything = [*self.groups, *self._prices]
        titles = [price.title() for price in everything]
        width = max(map(len, titles))
        lines.append(f"{'constraint':{width}}  {'price':>25}  {'of the cost':>19}  effect")
        for price, title in zip(everything, titles, strict=True):
            lines.append(f"{title:{width}}  {price.price():>25}  {price.percent():>19}  {price.effect}")
        effects = list(dict.fromkeys(price.effect for price in everything))
        lines += [_IN_WORDS[effect] for effect in _IN_WORDS if effect in effects]
        if not self.is_complete:
            lines.append("interrupted: constraints that were not asked about any more are undecided")
        return "\n".join(lines)

    __repr__ = summary

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the prices as sorted bars, from the proven least to the proven most."""
        from certimeans.report.price_plots import plot_prices  # noqa: PLC0415

        return plot_prices(self, ax)


def interval_in_words(interval: Interval) -> str:
    """Write an interval of costs, rounded outwards."""
    if interval.high == 0:
        return "0"
    low, high = text_down(interval.low, 5), text_up(interval.high, 5)
    return low if low == high else f"{low} to {'?' if math.isinf(interval.high) else high}"


@dataclass(frozen=True)
class _Item:
    """A question, and whose price its answer tells."""

    kind: str
    links: tuple[Link, ...]
    change: Change


def price_constraints(
    result: SolveResult,
    *,
    gap: float | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = 1,
    tell: Callable[[int, int], None] | None = None,
) -> ConstraintPrices:
    """Enclose what each constraint of a solved problem costs; see ``SolveResult.constraint_prices``.

    Parameters
    ----------
    tell
        Called with the number of constraints that are done, and with that of all.
    """
    if result.clustering is None:
        raise InputError("there is no clustering, so constraints have no price")
    questions = Questions(result, gap=gap, time_limit=time_limit, n_jobs=as_n_jobs(n_jobs))
    instance = result.instance
    singles = [_Item(link[0], (link,), Change.flip(link)) for link in stated_links(instance)]

    def ask(items: Sequence[_Item], before: int, total: int) -> list[Answer]:
        count = None if tell is None else (lambda done: tell(before + done, total))
        return questions.ask([item.change for item in items], count)

    answers = ask(singles, 0, len(singles) + len(_groups(instance, [])))
    prices = [_price(result, questions, item, answer) for item, answer in zip(singles, answers, strict=True)]
    implied = [item.links[0] for item, price in zip(singles, prices, strict=True) if price.effect == "implied"]
    groups = _groups(instance, implied)
    more = ask(groups, len(singles), len(singles) + len(groups))
    more = [_sharpened(questions, item, answer) for item, answer in zip(groups, more, strict=True)]
    return ConstraintPrices(
        prices,
        [_price(result, questions, item, answer) for item, answer in zip(groups, more, strict=True)],
        questions.cost,
        is_complete=not any(answer.was_stopped for answer in (*answers, *more)),
    )


def _price(result: SolveResult, questions: Questions, item: _Item, answer: Answer) -> ConstraintPrice:
    """Turn what the changed problem costs into what the constraint costs."""
    low, high = price_interval(questions.cost, answer.cost)
    effect: Effect = "binds" if low > 0 else "undecided"
    if high == 0:
        effect = "implied" if answer.is_impossible and item.kind != "all" else "costs nothing"
    least, most = questions.cost
    links = tuple((kind, result.number_of(i), result.number_of(j)) for kind, i, j in item.links)
    names = tuple((result.short_name_of(i), result.short_name_of(j)) for _, i, j in item.links)
    otherwise = answer.cost
    percent_low, percent_high = 0.0, 0.0 if high == 0 else math.inf
    # The share 1 - b / a rises with a and falls with b, as long as b is not negative.
    if low > 0 and least > 0:
        divisor = least if otherwise.high >= 0 else most
        percent_low = max(0.0, rounded_down(100 - 100 * Fraction(otherwise.high) / Fraction(divisor)))
    if high > 0 and most > 0 and otherwise.low >= 0:
        percent_high = rounded_up(100 - 100 * Fraction(otherwise.low) / Fraction(most))
    elif high > 0 and least > 0 and math.isfinite(high):
        percent_high = rounded_up(100 * Fraction(high) / Fraction(least))
    return ConstraintPrice(item.kind, links, names, effect, low, high, percent_low, percent_high)


def price_interval(with_it: Interval, otherwise: Interval) -> Interval:
    """Enclose max(0, a - b) for a and b in two intervals, rounded outwards; exactly 0 if b is surely not below a."""
    if otherwise.low >= with_it.high:
        return Interval(0.0, 0.0)
    low, high = 0.0, math.inf
    if math.isfinite(otherwise.high) and math.isfinite(with_it.low):
        low = max(0.0, rounded_down(Fraction(with_it.low) - Fraction(otherwise.high)))
    if math.isfinite(otherwise.low):
        high = rounded_up(Fraction(with_it.high) - Fraction(otherwise.low))
    return Interval(low, high)


def _sharpened(questions: Questions, item: _Item, answer: Answer) -> Answer:
    """Look closer at a group that seems to cost nothing.

    A clustering that keeps everything but the group breaks a first one of its pairs, and keeps those before. If for no
    pair such a clustering is cheaper than the one at hand, the group costs nothing: as for a single pair, no gap is
    left between the two.
    """
    low, high = price_interval(questions.cost, answer.cost)
    basis = _basis(item.links)
    if low > 0 or high == 0 or answer.was_stopped or item.change.without or not 0 < len(basis) <= _MOST_LOOKED_AT:
        return answer
    changes = [Change(frozenset(item.links) - set(basis[:n]), opposite(link)) for n, link in enumerate(basis)]
    found = questions.ask(changes)
    least = max(answer.cost.low, min(other.cost.low for other in found))
    most = min(other.cost.high for other in found)
    return Answer(Interval(least, max(least, most)), was_stopped=any(other.was_stopped for other in found))


def _basis(links: Sequence[Link]) -> list[Link]:
    """Return links from which all others of these follow: must-links that form no cycle, and the cannot-links."""
    basis: list[Link] = []
    component: dict[int, int] = {}
    for link in links:
        kind, i, j = link
        first, second = (component.setdefault(point, point) for point in (i, j))
        if kind == "must-link" and first != second:
            component = {point: first if own == second else own for point, own in component.items()}
        if kind == "cannot-link" or first != second:
            basis.append(link)
    return basis


def _groups(instance: Instance, implied: Sequence[Link]) -> list[_Item]:
    """Return what to ask about several constraints at once."""
    links = stated_links(instance)
    stated = instance.constraints
    others: list[StatedKind] = [
        kind for kind in ("diameter", "split", "partial_labels") if getattr(stated, kind) is not None
    ]
    others += ["cluster_sizes"] if instance.limits is not None else []
    items = []
    if len(links) + len(others) > 1:
        items.append(_Item("all", tuple(links), Change(frozenset(links), None, frozenset(others))))
    items += [_Item(kind, (), Change(without=frozenset({kind}))) for kind in others]
    joined = connected(instance.n_points, instance.must_link)
    touching = connected(instance.n_points, np.vstack([instance.must_link, instance.cannot_link]))
    found: dict[frozenset[Link], None] = {}
    for link in implied:
        group = _relatives(link, links, joined, touching)
        if 1 < len(group) < len(links):
            found[frozenset(group)] = None
    return items + [_Item("group", tuple(sorted(group)), Change(group)) for group in found]


def _relatives(link: Link, links: Sequence[Link], joined: IntArray, touching: IntArray) -> list[Link]:
    """Return the constraints among which a link follows from others.

    For a must-link, those of its component; for a cannot-link, those between the same two components, or, if it is
    the only one, all that are connected with it.
    """
    kind, i, j = link
    if kind == "must-link":
        return [other for other in links if other[0] == kind and joined[other[1]] == joined[i]]
    sides = {joined[i], joined[j]}
    between = [other for other in links if other[0] == kind and {joined[other[1]], joined[other[2]]} == sides]
    return between if len(between) > 1 else [other for other in links if touching[other[1]] == touching[i]]


def _plain(price: ConstraintPrice) -> dict[str, Any]:
    plain = price._asdict()
    return {name: finite_or_none(value) if isinstance(value, float) else value for name, value in plain.items()}

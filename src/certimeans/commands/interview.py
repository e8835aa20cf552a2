"""``certimeans ask --interactive``: shows two points, asks whether they belong together, and solves again."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from certimeans.ambiguity import AmbiguousPair, find_ambiguous_pairs
from certimeans.analysis.questions import Answer, Interval, Link
from certimeans.commands import ExitCode
from certimeans.commands.side_by_side import describe_pair
from certimeans.commands.streams import print_output
from certimeans.errors import InfeasibleError, InputError
from certimeans.prices import interval_in_words, price_interval
from certimeans.printing import harmless, percent_up, text_down, text_up
from certimeans.problem.clustering import Clustering
from certimeans.problem.constraints import Constraints, LinkKind
from certimeans.problem.instance import Instance
from certimeans.problem.io.files import read_constraints
from certimeans.problem.io.links import read_constraint_line
from certimeans.problem.table import SourceTable
from certimeans.report.comparison import match_clusters
from certimeans.report.tables import write_sheet
from certimeans.result import SolveResult
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance
from certimeans.status import SolveStatus, relative_gap

_AT_A_TIME = 3
"""Pairs that are looked at for one question."""
_MOST_MOVED = 8
_PROMPT = "same cluster? [y]es  [n]o  [s]kip  [u]ndo  [q]uit, or type a constraint > "
_TITLES = ["i", "j", "type", "name_i", "name_j"]


@dataclass(frozen=True)
class _Given:
    """An answer, and what was known before it."""

    link: Link
    before: SolveResult
    asked: int


class _NobodyHearsError(Exception):
    """Standard output cannot be written, so nobody knows what is asked."""


class _NotKeptError(Exception):
    """The file of answers cannot be written."""


class Interview:
    """Asks until nobody answers any more.

    Parameters
    ----------
    result
        What to begin with.
    path
        The file that has all answers at any time; if it is there, its answers come first.
    options
        Those of ``certimeans ask``.
    """

    def __init__(self, result: SolveResult, path: Path, options: argparse.Namespace) -> None:
        self.result = result
        self.source = result.source or SourceTable(result.instance.n_points, np.arange(result.instance.n_points))
        self.path = path
        self.options = options
        self.gap = result.target_gap if options.gap is None else options.gap
        self.given: list[_Given] = []
        self.set_aside: list[Link] = []  # on file, but contradicts the others
        self.skipped: set[tuple[int, int]] = set()
        self.asked = 0

    def run(self) -> ExitCode:
        """Ask, and say in the end what came out."""
        try:
            return self._converse()
        except _NobodyHearsError:  # print_output has said so; every answer is on file
            return ExitCode.NOT_WRITTEN
        except _NotKeptError as error:
            sys.stderr.write(f"certimeans: {harmless(str(error))}\n")
            if self.given:
                given = ", ".join(self._in_words(given.link) for given in self.given)
                sys.stderr.write(f"the answers were: {harmless(given)}\n")
            return ExitCode.NOT_WRITTEN

    def _converse(self) -> ExitCode:
        try:
            self._take_up_earlier_answers()
        except KeyboardInterrupt:
            with suppress(_NobodyHearsError):
                self._say(f"\ninterrupted; the answers are still in {self.path}\n")
            return ExitCode.INTERRUPTED
        try:
            while self.asked < self.options.count and self._ask_one():
                pass
        except KeyboardInterrupt:
            with suppress(_NobodyHearsError):
                self._say("\n")
                self._say_the_end()
            return ExitCode.INTERRUPTED
        self._say_the_end()
        return ExitCode.OK

    def _take_up_earlier_answers(self) -> None:
        if not self.path.exists():
            return
        found = read_constraints(
            self.path,
            n_points=self.source.n_rows,
            one_based=self.source.one_based,
            names=self.source.names,
            names_only=self.source.links_by_name,
        )
        links = self._links(found)
        if not links:
            return
        n = f"{len(links)} answer{'s' if len(links) > 1 else ''}"
        self._say(f"{self.path} has {n}; {'they are' if len(links) > 1 else 'it is'} taken up first\n")
        for link in links:
            self._add(link, is_on_file=True)

    def _ask_one(self) -> bool:
        """Ask about one pair; return whether to go on."""
        pairs = find_ambiguous_pairs(
            self.result,
            _AT_A_TIME,
            decided=self.options.decided,
            gap=self.gap,
            time_limit=self.options.time_limit,
            n_jobs=self.options.jobs,
            without=self.skipped,
        )
        if not pairs.is_complete:
            raise KeyboardInterrupt
        if not pairs:
            self._say("no pair is left that is worth asking about: for each one looked at, the data decide\n")
            return False
        pair = pairs[0]
        self._say(f"\nquestion {self.asked + 1}\n{describe_pair(self.result, pair)}\n")
        while True:
            self._say(_PROMPT)
            line = "" if sys.stdin is None else sys.stdin.readline()  # None: the shell closed it
            if not line.endswith("\n"):
                self._say("\n")  # the end of the input leaves the cursor behind the prompt
            word = line.strip()
            if not line or word.lower() in {"q", "quit"}:
                return False
            if word.lower() in {"s", "skip"}:
                self.skipped.add(pair.points)
                self.asked += 1
                return True
            if word.lower() in {"u", "undo"}:
                if self._undo():
                    return True
            elif word.lower() in {"y", "yes", "n", "no"}:
                if self._answer(pair, together=word.lower().startswith("y")):
                    self.asked += 1
                    return True
            elif word and self._take_typed(word):
                return True

    def _answer(self, pair: AmbiguousPair, *, together: bool) -> bool:
        kind: LinkKind = "must-link" if together else "cannot-link"
        i, j = pair.points
        return self._add((kind, i, j), None if together == (pair.now == "together") else pair.answer)

    def _take_typed(self, line: str) -> bool:
        """Take a constraint that the user typed; return whether it was one, and could be added."""
        try:
            stated = read_constraint_line(
                line,
                n_points=self.source.n_rows,
                one_based=self.source.one_based,
                names=self.source.names,
                names_only=self.source.links_by_name,
            )
            links = self._links(stated)
        except InputError as error:
            self._say(f"that is neither an answer nor a constraint: {error}\n")
            return False
        added = [self._add(link) for link in links]
        return all(added)

    def _add(self, link: Link, known: Answer | None = None, *, is_on_file: bool = False) -> bool:
        """Add a constraint and solve again; one that contradicts the others is explained and not added.

        While answers of an earlier session are taken up, the file keeps them all.
        """
        before = self.result
        kind, i, j = link
        stated = Constraints([(i, j)], []) if kind == "must-link" else Constraints([], [(i, j)])  # type: ignore[arg-type]  # converted
        try:
            instance = replace(before.instance, constraints=before.instance.constraints | stated)
            self.result = self._solve(instance, link, known)
        except InfeasibleError as error:
            self._say(f"{error.conflict.describe(before.short_name_of)}\n")
            if is_on_file:
                self.set_aside.append(link)
                self._say(f"so it is left out here; it stays in {self.path}\n")
            else:
                self._say("so it was not added; [u]ndo takes back the last answer\n")
            return False
        if link in self.set_aside:  # it contradicted an answer that was taken back
            self.set_aside.remove(link)
        self.given.append(_Given(link, before, self.asked))
        if not is_on_file:
            self._write()
        self._say_what_changed(before, link)
        return True

    def _solve(self, instance: Instance, link: Link, known: Answer | None) -> SolveResult:
        """Return the result with one more constraint: as before if it keeps that, or as the question found, or anew."""
        before, clustering = self.result, self.result.clustering
        assert clustering is not None  # noqa: S101  # load_result refuses such a folder
        kind, i, j = link
        if (clustering.labels[i] == clustering.labels[j]) == (kind == "must-link"):
            return replace(before, instance=instance)  # the best clustering stays, and so does what is proven
        labels = None if known is None else known.labels
        if known is not None and labels is not None and relative_gap(known.cost.high, known.cost.low) <= self.gap:
            found = Clustering.from_labels(instance, labels)
            if found.satisfies(instance):
                bound = max(before.lower_bound, min(known.cost.low, found.cost))
                return replace(before, instance=instance, clustering=found, lower_bound=bound)
        limits = Limits(self.gap, self.options.time_limit)
        solved = solve_instance(instance, limits, n_jobs=self.options.jobs, seed=before.seed, initial_labels=labels)
        if solved.status is SolveStatus.INTERRUPTED and not solved.is_complete:
            raise KeyboardInterrupt
        if solved.clustering is None:
            raise InputError("no clustering was found in the time allowed; allow more with --time-limit")
        return replace(solved, source=before.source, lower_bound=max(before.lower_bound, solved.lower_bound))

    def _undo(self) -> bool:
        if not self.given:
            self._say("there is no answer to take back\n")
            return False
        last = self.given.pop()
        self.result = last.before
        self.asked = last.asked
        self._write()
        self._say(f"taken back: {self._in_words(last.link)}\n")
        return True

    def _write(self) -> None:
        rows = [
            [*(self.source.written(p) for p in (i, j)), kind, *(self.result.short_name_of(p) for p in (i, j))]
            for kind, i, j in (*(given.link for given in self.given), *self.set_aside)
        ]
        try:
            write_sheet(self.path, _TITLES, rows)
        except InputError as error:
            raise _NotKeptError(error) from None

    def _links(self, stated: Constraints) -> list[Link]:
        """Return stated pairs, which are about rows, as links of points."""
        if stated.diameter is not None or stated.split is not None or stated.cluster_sizes is not None:
            raise InputError("only pairs can be answers; state distances and sizes when you solve")
        point = np.full(self.source.n_rows, -1)
        point[self.source.row_of_point] = np.arange(len(self.source.row_of_point))
        if (point[stated.must_link] < 0).any() or (point[stated.cannot_link] < 0).any():
            raise InputError("a row that was left out cannot be part of a constraint")
        links: list[Link] = [("must-link", i, j) for i, j in point[stated.must_link].tolist()]
        return links + [("cannot-link", i, j) for i, j in point[stated.cannot_link].tolist()]

    def _say_what_changed(self, before: SolveResult, link: Link) -> None:
        old, new = before.clustering, self.result.clustering
        assert old is not None  # noqa: S101  # load_result refuses such a folder
        assert new is not None  # noqa: S101  # the same
        labels = match_clusters(new.labels, old.labels, new.n_clusters)
        moved = np.flatnonzero(labels != old.labels)
        if not len(moved):
            self._say(f"{self._in_words(link)}: the clustering keeps that already, and stays as it is\n")
            return
        names = [f"{before.short_name_of(p)} ({old.labels[p]} → {labels[p]})" for p in moved[:_MOST_MOVED].tolist()]
        more = f" and {len(moved) - _MOST_MOVED} more" if len(moved) > _MOST_MOVED else ""
        was, now = (Interval(r.lower_bound, r.objective) for r in (before, self.result))
        price = price_interval(now, was)
        share = "" if was.low <= 0 else f" ({percent_up(price.high / was.low)} at most)"
        self._say(
            f"{self._in_words(link)}: {len(moved)} point{'s' if len(moved) > 1 else ''} changed cluster: "
            f"{', '.join(names)}{more}\nthe answer costs {interval_in_words(price)}{share}; the cost is now "
            f"{text_up(new.cost)}, proven to be at least {text_down(self.result.lower_bound)}\n"
        )

    def _say_the_end(self) -> None:
        if self.set_aside:
            n = len(self.set_aside)
            self._say(
                f"\n{self.path} also has {n} answer{'s' if n > 1 else ''} left out because of a contradiction: "
                f"{', '.join(map(self._in_words, self.set_aside))}; remove what is wrong before you solve with it\n"
            )
        if not self.given:
            self._say("no answers were added\n")
            return
        cost = interval_in_words(Interval(self.result.lower_bound, self.result.objective))
        n = len(self.given)
        self._say(
            f"\n{n} answer{'s' if n > 1 else ''} in {self.path}; the optimum is now {cost}. To write a result with a "
            f"proof, solve again with --constraints {self.path} beside the others\n"
        )

    def _in_words(self, link: Link) -> str:
        kind, i, j = link
        return f"{self.result.short_name_of(i)} {'=' if kind == 'must-link' else '≠'} {self.result.short_name_of(j)}"

    def _say(self, text: str) -> None:
        if not print_output(harmless(text)):
            raise _NobodyHearsError

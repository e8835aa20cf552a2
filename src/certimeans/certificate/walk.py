"""From the entries of a proof to a bound: apply the steps one after the other, and put their bounds together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Future
from typing import NamedTuple

from certimeans.certificate.archive import require
from certimeans.certificate.state import State
from certimeans.certificate.steps import Bound, Branch, Context, Verifier


class Outcome(NamedTuple):
    """What a proof proves: the bound of entry 0, and of which kinds its leaves are."""

    bound: float
    weakest: int  # the leaf that decides
    n_leaves: int
    n_infeasible: int


def walk(context: Context, state: State, verifiers: Mapping[str, Verifier]) -> Outcome:
    """Return the bound of entry 0, which starts with the given state.

    Every clustering has two points together or apart, and gives the cluster of a point one of the prescribed sizes: so
    what holds for the clusterings of all entries of a branch holds for those of the entry that branches. Entries of a
    branch come after it, each belongs to one branch, and all are reached from entry 0.
    """
    entries = context.certificate.proof
    proven: list[list[Bound]] = [[] for _ in entries]
    branches: list[Branch | None] = [None] * len(entries)
    reached = {0}
    waiting: list[Future[float]] = []
    todo = [(0, state)]
    while todo:
        here, state = todo.pop()
        for step in entries[here]:
            found = verifiers[step.kind](context, state, step)
            if isinstance(found, Branch):
                require(step is entries[here][-1], f"{step.where}: a branch must be the last step of its entry")
                for entry, decide in found.children:
                    require(entry not in reached, f"{step.where}: entry {entry} belongs to a branch already")
                    reached.add(entry)
                    child = state.copy()
                    decide(child)
                    todo.append((entry, child))
                branches[here] = found
            elif found is not None:
                proven[here].append(found)
                if isinstance(found, Future):
                    waiting.append(found)
            if len(waiting) > 4 * context.n_jobs:
                waiting.pop(0).result()  # no more than a few in memory at a time
    missing = set(range(len(entries))) - reached
    require(not missing, f"entry {min(missing, default=0)} belongs to no branch")
    bounds = [[_value(bound) for bound in found] for found in proven]
    return _fold(bounds, branches, context.data.floor)


def _fold(proven: list[list[float]], branches: list[Branch | None], floor: float) -> Outcome:
    """Put the bounds of steps together: the largest of an entry's steps, the smallest of a branch's entries."""
    best = [max(floor, *found, -math.inf) for found in proven]
    for here in reversed(range(len(best))):
        branch = branches[here]
        if branch is not None:
            best[here] = max(best[here], min(best[entry] for entry in branch.entries))
    weakest = 0
    while (branch := branches[weakest]) is not None:
        weakest = min(branch.entries, key=best.__getitem__)
    leaves = [entry for entry, branch in enumerate(branches) if branch is None]
    return Outcome(best[0], weakest, len(leaves), sum(math.inf in proven[leaf] for leaf in leaves))


def _value(bound: Bound) -> float:
    return bound.result() if isinstance(bound, Future) else bound

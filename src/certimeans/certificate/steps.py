"""The rules of the proof: a table from the kind of a step to what verifies it.

A verifier gets the context, the state of the entry and the step. It changes the state, or returns a bound that holds
for every clustering of the state, or says that this bound is being proven by another process; a branch returns the
entries that share its clusterings between them. A new kind is a new row in ``VERIFIERS`` of ``check.py``, or in
``VERIFIERS_OF_PARTS`` below if parts and regions may have it, and in ``read.ARRAYS``; the rules for parts and regions
are in ``parts.py`` and ``regions.py``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from certimeans._typing import BoolArray
from certimeans.certificate.archive import require
from certimeans.certificate.ball import covariance_in_balls, relaxation_in_balls
from certimeans.certificate.blocks import BlockTerms, blocks_in_balls, blocks_in_floats
from certimeans.certificate.bound import covariance_in_floats, relaxation_in_floats
from certimeans.certificate.geometry import Geometry
from certimeans.certificate.multipliers import BlockMultipliers, Multipliers
from certimeans.certificate.read import Certificate, Proof, Step
from certimeans.certificate.size_bounds import SizeTerms
from certimeans.certificate.state import State
from certimeans.errors import CertificateError, MalformedCertificateError
from certimeans.orphans import end_with_parent

Arithmetic = Literal["float", "ball"]
RELAXATION = {"float": relaxation_in_floats, "ball": relaxation_in_balls}
BLOCKS = {"float": blocks_in_floats, "ball": blocks_in_balls}
COVARIANCE = {"float": covariance_in_floats, "ball": covariance_in_balls}


class Context(NamedTuple):
    """What all steps of a proof are about, and how to compute; ``pool`` is ``None`` for this process alone."""

    certificate: Proof
    data: Geometry
    arithmetic: Arithmetic
    pool: ProcessPoolExecutor | None = None
    n_jobs: int = 1


class Branch(NamedTuple):
    """Entries that share all clusterings between them, each with what is decided in it."""

    children: tuple[tuple[int, Callable[[State], None]], ...]

    @property
    def entries(self) -> list[int]:
        """The entries alone."""
        return [entry for entry, _ in self.children]


Bound = float | Future[float]
Verifier = Callable[[Context, State, Step], Bound | Branch | None]


def identical(context: Context, state: State, step: Step) -> None:
    """Unite identical points that are free: some clustering of least cost keeps them together if k groups are left.

    Move each place to the nearest centre of any clustering: no cost rises, no constraint breaks. Where that leaves
    clusters empty, some cluster has two groups, as there are k of them; one of these gets a cluster of its own.
    """
    certificate = context.certificate
    if not isinstance(certificate, Certificate) or certificate.is_gram:
        raise MalformedCertificateError(f"{step.where}: a Gram matrix has no points that could be identical")
    if certificate.limits is not None:
        raise CertificateError(f"{step.where}: with limits on sizes identical points need not be together")
    free = state.free_points()
    if free.size == 0:
        return
    rows = certificate.values[free] + 0.0  # -0.0 + 0.0 is 0.0
    order = np.lexsort(rows.T[::-1])
    differs = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    places = np.split(free[order], np.flatnonzero(differs) + 1)
    if state.n_groups - free.size + len(places) < certificate.k:
        raise CertificateError(f"{step.where}: fewer than k = {certificate.k} groups would be left")
    state.unite_free(places)


def merge(context: Context, state: State, step: Step) -> None:
    """Unite points as the rows say, each for a reason that is checked."""
    for number, row in enumerate(context.certificate.merges(step)):
        state.merge(row, f"{step.where}, row {number}")


def covariance(context: Context, state: State, step: Step) -> float:  # noqa: ARG001
    """Compute the covariance bound of the state's groups."""
    groups, size = state.numbered()
    if size < context.certificate.k:
        return math.inf  # no clustering is left
    if context.data.is_zero:
        return 0.0
    points = context.data.super_points(groups, size)
    return COVARIANCE[context.arithmetic](context.data, points, context.certificate.k)


def relaxation(context: Context, state: State, step: Step) -> Bound:
    """Compute the bound that multipliers prove."""
    proof = context.certificate.multipliers(step)
    forbidden = state.forbidden(proof.groups, proof.size, step.where)
    sizes = _size_terms(context.certificate, state, proof)
    if sizes is not None:
        forbidden |= sizes.forbidden()
    _check_anchors(sizes, proof, forbidden, step)
    upper = np.triu_indices(proof.size)
    wrong = np.flatnonzero((proof.slack < 0) & ~forbidden[upper])
    if wrong.size and not (sizes is not None and sizes.is_proportional):
        i, j = upper[0][wrong[0]], upper[1][wrong[0]]
        raise CertificateError(f"{step.where}: the slack of super-points {i} and {j}, which may link, is negative")
    if context.data.is_zero:
        return 0.0
    if context.pool is not None:
        return context.pool.submit(_prove_in_pool, proof, forbidden, sizes)
    return RELAXATION[context.arithmetic](context.data, proof, forbidden, context.certificate.k, sizes)


def size_blocks(context: Context, state: State, step: Step) -> Bound:
    """Compute the bound that multipliers of a relaxation with a block for each prescribed size prove."""
    certificate, limits = context.certificate, context.certificate.limits
    exact = [] if limits is None or not limits.is_exact else [low for low, _ in limits.slots]
    if limits is None or not exact or certificate.has_size_rows or min(exact) <= 0:
        raise CertificateError(f"{step.where}: no positive sizes are prescribed, or they do not count weights")
    proof = certificate.block_multipliers(step, len(set(exact)))
    forbidden = state.forbidden(proof.groups, proof.size, step.where)
    amounts, decided = limits.totals(proof.groups, proof.size), state.decided_sizes(proof.groups)
    if sum(exact) != sum(amounts):
        return math.inf  # no clustering has these sizes
    terms = BlockTerms.of(amounts, exact, decided, forbidden)
    several = [g for g in proof.links[:, 0].tolist() if terms.counts[g] > 1]
    if several:
        raise CertificateError(f"{step.where}: a link for the size number {several[0]}, which several clusters have")
    if context.data.is_zero:
        return 0.0
    if context.pool is not None:
        return context.pool.submit(_prove_blocks_in_pool, proof, terms)
    return BLOCKS[context.arithmetic](context.data, proof, terms)


def _size_terms(certificate: Proof, state: State, proof: Multipliers) -> SizeTerms | None:
    """Return the limits on sizes as limits of super-points."""
    limits = certificate.limits
    if limits is None:
        return None
    totals, decided = limits.totals(proof.groups, proof.size), state.decided_sizes(proof.groups)
    return SizeTerms(totals, limits.slots, not certificate.has_size_rows, decided, list(proof.anchors))


def _check_anchors(sizes: SizeTerms | None, proof: Multipliers, forbidden: BoolArray, step: Step) -> None:
    """Require that the sizes of the anchors' clusters are decided, that these differ, and that one is left."""
    if not proof.anchors:
        return
    if sizes is None or not sizes.is_proportional or not set(proof.anchors) <= set(sizes.decided):
        raise CertificateError(f"{step.where}: an anchor without a decided size")
    taken = Counter(sizes.decided[a] for a in proof.anchors)
    if len(proof.anchors) >= len(sizes.slots) or not taken <= Counter(low for low, _ in sizes.slots):
        raise CertificateError(f"{step.where}: more anchors than there are clusters of their sizes, less one in all")
    for place, a in enumerate(proof.anchors):
        for b in proof.anchors[:place]:
            if not forbidden[a, b]:
                raise CertificateError(f"{step.where}: nothing holds the anchors {b} and {a} apart")


def infeasible(context: Context, state: State, step: Step) -> float:
    """Decide that no clustering satisfies the state."""
    if not state.is_infeasible(context.certificate.k, context.certificate.limits):
        raise CertificateError(f"{step.where}: this is claimed to be infeasible, but there are clusterings")
    return math.inf


def branch(context: Context, state: State, step: Step) -> Branch:  # noqa: ARG001
    """Read a branch; walk.py sees to it that every entry belongs to one."""
    pair, entries = step.content.get("pair"), [step.content.get(key) for key in ("together", "apart")]
    n = context.certificate.n
    require(
        isinstance(pair, list) and len(pair) == 2 and all(type(i) is int and 0 <= i < n for i in pair),
        f"{step.where}: pair must be two of the {n} points",
    )
    i, j = pair  # type: ignore[misc]
    require(i != j, f"{step.where}: pair must be two different points")
    together, apart = _later_entries(context, step, entries, "together and apart")
    return Branch(((together, lambda state: state.unite(i, j)), (apart, lambda state: state.separate(i, j))))


def branch_sizes(context: Context, state: State, step: Step) -> Branch:  # noqa: ARG001
    """Read a branch on the size of a point's cluster: it has one of the prescribed ones."""
    limits, point, entries = context.certificate.limits, step.content.get("point"), step.content.get("entries")
    n = context.certificate.n
    choices = [] if limits is None else limits.choices()
    require(bool(choices), f"{step.where}: no sizes are prescribed")
    require(type(point) is int and 0 <= point < n, f"{step.where}: point must be one of the {n} points")
    require(
        isinstance(entries, list) and len(entries) == len(choices),
        f"{step.where}: there must be an entry for each of the {len(choices)} different sizes",
    )
    assert limits is not None  # noqa: S101  # else there are no choices
    assert isinstance(point, int)  # noqa: S101  # was required
    assert isinstance(entries, list)  # noqa: S101  # the same

    def decided(size: int) -> Callable[[State], None]:
        is_unique = limits.slots.count((size, size)) == 1
        return lambda state: state.decide_size(point, size, is_unique=is_unique)

    later = _later_entries(context, step, entries, "entries")
    return Branch(tuple((entry, decided(size)) for entry, size in zip(later, choices, strict=True)))


def _later_entries(context: Context, step: Step, entries: list[Any], names: str) -> list[int]:
    last = len(context.certificate.proof) - 1
    require(
        all(type(entry) is int and step.entry < entry <= last for entry in entries),
        f"{step.where}: {names} must be entries after this one",
    )
    return entries


VERIFIERS_OF_PARTS: dict[str, Verifier] = {
    "merge": merge,
    "covariance": covariance,
    "relaxation": relaxation,
    "infeasible": infeasible,
    "branch": branch,
}
"""What the proof of a part or region may consist of; ``parts.py`` and ``regions.py`` have the rules for these."""

worker_context: dict[str, tuple[Geometry, Arithmetic, int]] = {}


def start_worker(parent: int, data: Geometry, arithmetic: Arithmetic, k: int) -> None:
    """Tell a process of the pool, once, what all its tasks are about; one BLAS thread each.

    It ends if the process with the number of the parent does.
    """
    end_with_parent(parent)
    threadpool_limits(limits=1, user_api="blas")
    worker_context["context"] = (data, arithmetic, k)


def _prove_in_pool(proof: Multipliers, forbidden: BoolArray, sizes: SizeTerms | None) -> float:
    data, arithmetic, k = worker_context["context"]
    return RELAXATION[arithmetic](data, proof, forbidden, k, sizes)


def _prove_blocks_in_pool(proof: BlockMultipliers, terms: BlockTerms) -> float:
    data, arithmetic, _ = worker_context["context"]
    return BLOCKS[arithmetic](data, proof, terms)

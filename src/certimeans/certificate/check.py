"""Re-prove what a certificate claims. Shares no code with the solver; docs/certificate.md is all it builds on.

Read it in this order: ``archive.py`` and ``read.py`` (what the files hold), ``state.py``, ``colouring.py`` and
``sizes.py`` (what is known of the clusterings of an entry), ``exact.py`` and ``geometry.py`` (the data), ``bound.py``
with ``multipliers.py``, ``size_bounds.py`` and ``blocks.py`` (bounds in floating point), ``ball.py`` (the same in ball
arithmetic), ``steps.py``, ``parts.py`` and ``regions.py`` with ``joins.py`` (the rules, one for each kind of step),
``walk.py`` (from entries to a bound), and this file, which puts them together;
``result.py`` compares what ``result.json`` claims, ``verification.py`` says the outcome in words.
"""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.certificate.archive import read_json
from certimeans.certificate.ball import require_flint
from certimeans.certificate.exact import rounded_up
from certimeans.certificate.geometry import Geometry, GramData, PointData
from certimeans.certificate.parts import parts
from certimeans.certificate.read import Certificate
from certimeans.certificate.regions import regions
from certimeans.certificate.result import compare_result
from certimeans.certificate.state import State
from certimeans.certificate.steps import (
    RELAXATION,
    VERIFIERS_OF_PARTS,
    Arithmetic,
    Context,
    Verifier,
    branch_sizes,
    identical,
    size_blocks,
    start_worker,
)
from certimeans.certificate.verification import Verification, shown
from certimeans.certificate.walk import Outcome, walk
from certimeans.errors import CertificateError, InputError

VERIFIERS: dict[str, Verifier] = {
    **VERIFIERS_OF_PARTS,
    "branch_sizes": branch_sizes,
    "identical": identical,
    "parts": parts,
    "regions": regions,
    "size_blocks": size_blocks,
}
_ACCURACY = Fraction(1, 10**6)  # how far a claimed cost may be above the exact one, relatively


class StatedProblem(Protocol):
    """The user's own problem; points that are not scaled, in ``table`` or ``points``, if it says nothing else."""

    n_clusters: int
    weights: FloatArray
    must_link: IntArray
    cannot_link: IntArray


def verify(
    folder: str | Path,
    gap: float | None = None,
    instance: Any = None,
    arithmetic: Arithmetic = "float",
    n_jobs: int = 1,
) -> Verification:
    """Prove what the certificate in ``folder`` claims, from nothing but its files.

    If there is a ``result.json`` beside them, it must not contradict what is proven.

    Parameters
    ----------
    folder
        Where ``certificate.json`` and ``certificate.npz`` are.
    gap
        A relative gap that has to be proven, if any.
    instance
        The problem as read from its original files, to be compared with the copy in the certificate.
    arithmetic
        How to compute: floating point with all rounding accounted for, or balls.
    n_jobs
        Number of processes; -1 for all cores.

    Raises
    ------
    CertificateError
        If the certificate does not prove what it claims; the message says where it fails.
    MalformedCertificateError
        A ``CertificateError``: if what can be read is not a certificate of format 2.
    InputError
        If its files are missing or cannot be read, or an argument is not one.
    """
    began = time.perf_counter()
    _check_arguments(gap, arithmetic, n_jobs)
    n_jobs = (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
    with Certificate(Path(folder)) as certificate:
        if instance is not None:
            _compare(certificate, instance)
        try:
            verification, exact_gap = _verify(certificate, arithmetic, n_jobs, began)
        except (MemoryError, BrokenProcessPool):
            raise CertificateError("there is not enough memory to prove this; fewer processes need less") from None
        except ArithmeticError as error:  # nothing in the files is trusted: sizes of 0, weights whose sum overflows
            raise CertificateError(f"the numbers of this certificate cannot be computed with: {error}") from None
        if (Path(folder) / "result.json").exists():
            compare_result(read_json(Path(folder) / "result.json"), certificate, verification.lower_bound, exact_gap)
    if gap is not None and (exact_gap is None or exact_gap > Fraction(gap)):
        got = "none is" if exact_gap is None else f"only {shown(verification.gap, up=True)} is"
        raise CertificateError(f"a gap of {gap!r} is not proven: {got}")
    return verification


def _verify(
    certificate: Certificate, arithmetic: Arithmetic, n_jobs: int, began: float
) -> tuple[Verification, Fraction | None]:
    """Prove what the certificate claims; return that, and the gap without rounding."""
    data: Geometry
    if certificate.is_gram:
        data = GramData(certificate.values, certificate.weights)
    else:
        data = PointData(certificate.values, certificate.weights, standardize=certificate.standardize)
    cost = _check_clustering(certificate, data)
    outcome = _check_proof(certificate, data, arithmetic, n_jobs)
    proven, claimed = outcome.bound, certificate.lower_bound
    if proven < claimed:
        raise CertificateError(f"claimed lower bound {claimed!r}, but entry {outcome.weakest} proves only {proven!r}")
    if cost is not None and proven > cost:
        raise CertificateError(f"the bound {proven!r} exceeds the cost of a clustering: a bug in this checker")
    exact_gap = _gap(cost, proven)
    verification = Verification(
        geometry=certificate.geometry,
        standardize=certificate.standardize,
        n=certificate.n,
        k=certificate.k,
        must_links=len(certificate.must_link),
        cannot_links=len(certificate.cannot_link),
        objective=certificate.objective,
        cost=None if cost is None else rounded_up(cost),
        claimed_bound=claimed,
        lower_bound=proven,
        gap=math.inf if exact_gap is None else rounded_up(exact_gap),
        n_entries=len(certificate.proof),
        n_leaves=outcome.n_leaves,
        n_infeasible=outcome.n_infeasible,
        n_parts=_count_parts(certificate),
        n_regions=_count_regions(certificate),
        arithmetic=arithmetic,
        seconds=time.perf_counter() - began,
        sizes="" if certificate.sizes is None else certificate.sizes.in_words(),
    )
    return verification, exact_gap


def _count_parts(certificate: Certificate) -> int:
    return sum(len(step.content["parts"]) for entry in certificate.proof for step in entry if step.kind == "parts")


def _count_regions(certificate: Certificate) -> int:
    steps = [step for entry in certificate.proof for step in entry if step.kind == "regions"]
    return sum(certificate.regions(step)[1] for step in steps)


def _check_arguments(gap: float | None, arithmetic: Arithmetic, n_jobs: int) -> None:
    if arithmetic not in RELAXATION:
        raise InputError(f"arithmetic must be 'float' or 'ball'; got {arithmetic!r}")
    if gap is not None and not 0 <= gap < math.inf:
        raise InputError(f"gap must be a number, at least 0; got {gap!r}")
    if n_jobs != -1 and n_jobs < 1:
        raise InputError(f"n_jobs must be at least 1, or -1 for all cores; got {n_jobs!r}")
    if arithmetic == "ball":
        require_flint()


def _compare(certificate: Certificate, instance: StatedProblem) -> None:
    """Require that the embedded instance is the given one."""
    if not hasattr(instance, "n_clusters"):
        raise InputError(
            f"instance must be a problem, such as result.instance or certimeans.Instance(...); got {type(instance)!r}"
        )
    if certificate.k != instance.n_clusters:
        raise CertificateError(f"the certificate is for k = {certificate.k}, not {instance.n_clusters}")
    names = {"points": "points", "gram": "a Gram matrix"}
    geometry = getattr(instance, "geometry", "points")
    if certificate.geometry != geometry:
        raise CertificateError(f"the certificate is about {names[certificate.geometry]}, not {names[geometry]}")
    standardize = bool(getattr(instance, "standardize", False))
    if certificate.standardize != standardize:
        kinds = ("the features as they are", "features scaled to variance 1 (--standardize)")
        raise CertificateError(
            f"the certificate is about {kinds[certificate.standardize]}, but this is to be about {kinds[standardize]}"
        )
    table = instance.table if hasattr(instance, "table") else instance.points  # type: ignore[attr-defined]
    stated = {geometry: table, **{name: getattr(instance, name) for name in ("weights", "must_link", "cannot_link")}}
    for name, given in stated.items():
        ours = certificate.values if name == geometry else getattr(certificate, name)
        if ours.shape != given.shape and name in {"must_link", "cannot_link"}:
            raise CertificateError(
                f"the certificate is about {len(ours)} {name.replace('_', '-')}s, the data about {len(given)}; give "
                "all constraints that were given to the solver"
            )
        if ours.shape != given.shape:
            raise CertificateError(f"{name} have shape {ours.shape} in the certificate, but {given.shape} in the data")
        differ = np.argwhere(ours != given)
        if differ.size:
            raise CertificateError(f"{name} in the certificate differ from the data, first in row {differ[0][0]}")
    _compare_sizes(certificate, getattr(getattr(instance, "constraints", None), "cluster_sizes", None))


def _compare_sizes(certificate: Certificate, given: Any) -> None:
    """Require that limits on sizes are the given ones, an object with the names of the certificate, or ``None``."""
    ours = certificate.sizes
    if (ours is None) != (given is None):
        kinds = ("no limits on sizes", "limits on sizes")
        raise CertificateError(
            f"the certificate is about {kinds[ours is not None]}, but this is to be about {kinds[given is not None]}"
        )
    if ours is None:
        return
    theirs = {name: getattr(given, name) for name in ours._fields}
    theirs["sizes"] = None if theirs["sizes"] is None else sorted(theirs["sizes"])
    for name, stated in ours._asdict().items():
        if (stated is None) != (theirs[name] is None) or (
            stated is not None and not np.array_equal(stated, theirs[name])
        ):
            raise CertificateError(f"{name} in the certificate differs from that of the data")


def _check_clustering(certificate: Certificate, data: Geometry) -> Fraction | None:
    """Check labels against constraints and claimed cost; return their exact cost."""
    labels, objective = certificate.labels, certificate.objective
    if labels is None or objective is None:
        return None
    empty = np.flatnonzero(np.bincount(labels, minlength=certificate.k) == 0)
    if empty.size:
        raise CertificateError(f"labels: cluster {empty[0]} has no point")
    for name, together in (("must_link", True), ("cannot_link", False)):
        pairs = getattr(certificate, name)
        broken = pairs[(labels[pairs[:, 0]] == labels[pairs[:, 1]]) != together]
        if broken.size:
            raise CertificateError(f"labels: points {broken[0][0]} and {broken[0][1]} violate {name}")
    if certificate.limits is not None and not certificate.limits.are_kept(labels, certificate.k):
        raise CertificateError("labels: the sizes of the clusters break the limits")
    cost = data.cost(labels, certificate.k)
    if objective < cost:
        raise CertificateError(f"the clustering is claimed to cost {objective!r}, but costs more: {rounded_up(cost)!r}")
    # Among the smallest floats, the next one may be further away than that.
    if objective > max(cost + _ACCURACY * abs(cost) + data.allowance(), Fraction(rounded_up(cost))):
        raise CertificateError(f"the clustering is claimed to cost {objective!r}, but costs {rounded_up(cost)!r}")
    if certificate.lower_bound > objective:
        raise CertificateError(f"the lower bound {certificate.lower_bound!r} is above the cost {objective!r}")
    return cost


def _check_proof(certificate: Certificate, data: Geometry, arithmetic: Arithmetic, n_jobs: int) -> Outcome:
    """Return the bound of entry 0, proven in several processes if there is enough to do."""
    kinds = [step.kind for entry in certificate.proof for step in entry]
    is_divided = "parts" in kinds or "regions" in kinds
    several = n_jobs > 1 and (is_divided or kinds.count("relaxation") + kinds.count("size_blocks") > 1)
    start = (os.getpid(), data, arithmetic, certificate.k)
    with ProcessPoolExecutor(n_jobs, initializer=start_worker, initargs=start) if several else nullcontext() as pool:
        context = Context(certificate, data, arithmetic, pool, n_jobs)
        return walk(context, State(certificate.n, certificate.must_link, certificate.cannot_link), VERIFIERS)


def _gap(cost: Fraction | None, bound: float) -> Fraction | None:
    """Return (cost - bound) / |cost|; ``None`` if there is no clustering or this is infinite."""
    if cost is None or math.isinf(bound):
        return None
    if cost == 0:
        return Fraction(0) if bound == 0 else None
    return (cost - Fraction(bound)) / abs(cost)

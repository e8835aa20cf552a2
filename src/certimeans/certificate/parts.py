"""The rule for parts: what holds for each of them adds up.

Point i has the weight w_i, and the weight w_i^p >= 0 in part p, where the w_i^p of all parts add up to at most w_i. For
any clustering, the scatter of a cluster around its centre is at least the sum of its scatters in the parts, each around
a centre of its own. Restricted to a part, a clustering keeps what is together and what is apart, and has at most k
clusters; if there are at least k groups in the part, splitting clusters makes exactly k of them and costs nothing. So
the sum of what the parts cost at least, as problems of their own, is a bound for the whole. A part with fewer than k
groups costs at least 0, and so does what is left of the weights.

Parts are read one after the other, each from a file of its own. Only the numbers of their points, and their weights,
are kept until the end, when the weights are added up without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.certificate.archive import require
from certimeans.certificate.exact import rounded_down
from certimeans.certificate.geometry import PointData
from certimeans.certificate.read import Certificate, PartProof, Step, part_path
from certimeans.certificate.state import State
from certimeans.certificate.steps import VERIFIERS_OF_PARTS, Arithmetic, Context, worker_context
from certimeans.certificate.walk import walk
from certimeans.errors import CertificateError, InputError, MalformedCertificateError


def parts(context: Context, state: State, step: Step) -> float:
    """Prove a bound for each part, and add up."""
    certificate, data = context.certificate, context.data
    content = step.content.get("parts")
    if not (isinstance(certificate, Certificate) and isinstance(data, PointData)):
        raise MalformedCertificateError(f"{step.where}: only points have parts")
    if not isinstance(content, list) or not content:
        raise MalformedCertificateError(f"{step.where}: parts must be a list of proofs")
    taken: list[tuple[IntArray, FloatArray]] = []
    waiting: list[Future[float]] = []
    bounds: list[float] = []
    for number in range(len(content)):
        where = f"{step.where}, part {number}"
        with named(where), certificate.part(step, number) as proof:
            own = state.restricted(proof.members)
            weights = data.weights[proof.members] if proof.shares is None else proof.shares
            taken.append((proof.members, weights))
            if own.n_groups < certificate.k:
                require(not any(proof.proof), "with fewer super-points than clusters it proves nothing")
            elif context.pool is None:
                bounds.append(_prove(data, context.arithmetic, proof, own, weights))
        if own.n_groups >= certificate.k and context.pool is not None:
            task = (part_path(certificate.folder, step, number), content[number], own, weights, where)
            waiting.append(context.pool.submit(_prove_in_pool, *task))
            if len(waiting) > 4 * context.n_jobs:
                bounds.append(waiting.pop(0).result())
    bounds += [bound.result() for bound in waiting]
    _check_weights(taken, data.weights, step)
    if math.inf in bounds:
        return math.inf
    return rounded_down(sum(map(Fraction, bounds), Fraction(0)))


def _prove(data: PointData, arithmetic: Arithmetic, proof: PartProof, state: State, weights: FloatArray) -> float:
    """Prove the bound of a part, a problem of its own."""
    own = data.part(proof.members, weights)
    return walk(Context(proof, own, arithmetic), state, VERIFIERS_OF_PARTS).bound


def _prove_in_pool(path: Path, content: object, state: State, weights: FloatArray, where: str) -> float:
    data, arithmetic, k = worker_context["context"]
    assert isinstance(data, PointData)  # noqa: S101  # parts() looked
    with named(where), PartProof(path, len(data.points), k, content) as proof:
        return _prove(data, arithmetic, proof, state, weights)


def _check_weights(taken: list[tuple[IntArray, FloatArray]], weights: FloatArray, step: Step) -> None:
    """Require that the weights of every point in the parts add up to no more than its own."""
    points = np.concatenate([members for members, _ in taken])
    shares = np.concatenate([own for _, own in taken])
    order = np.argsort(points, kind="stable")
    points, shares = points[order], shares[order]
    first = np.flatnonzero(np.diff(points, prepend=-1))
    count = np.diff(np.append(first, len(points)))
    too_heavy = points[first[(count == 1) & (shares[first] > weights[points[first]])]].tolist()
    for begin, n in zip(first[count > 1].tolist(), count[count > 1].tolist(), strict=True):
        point = int(points[begin])
        # The sum is rounded correctly, once: it has the sign of the exact one.
        if math.fsum([*shares[begin : begin + n].tolist(), -float(weights[point])]) > 0:
            too_heavy.append(point)
    if too_heavy:
        raise CertificateError(f"{step.where}: point {min(too_heavy)} has more weight in the parts than it has")


@contextmanager
def named(where: str) -> Iterator[None]:
    """Say in messages which part they are about."""
    try:
        yield
    except (CertificateError, InputError) as error:
        raise type(error)(f"{where}: {error}") from None

"""Re-prove what a certificate claims. Shares no code with the solver; docs/certificate.md is all it builds on.

Read it in this order: ``read.py`` (what the files hold), ``tree.py`` and ``colouring.py`` (the leaves cover every
clustering, and what is known at each), ``exact.py`` (the data, exactly), ``bound.py`` (the bound of a node in floating
point), ``ball.py`` (the same in ball arithmetic), and this file, which puts them together.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from certimeans._typing import BoolArray
from certimeans.certificate.ball import bound_in_balls, require_flint
from certimeans.certificate.bound import bound_in_floats, check_signs
from certimeans.certificate.exact import ExactData, rounded_up
from certimeans.certificate.read import Certificate, Proof
from certimeans.certificate.tree import State, children_of
from certimeans.errors import CertificateError, InputError

if TYPE_CHECKING:
    from certimeans.problem.instance import Instance

Arithmetic = Literal["float", "ball"]
_PROVERS: dict[Arithmetic, Callable[[ExactData, Proof, BoolArray, int], float]] = {
    "float": bound_in_floats,
    "ball": bound_in_balls,
}


@dataclass(frozen=True)
class Verification:
    """What was proven.

    Attributes
    ----------
    n, k, must_links, cannot_links
        The instance: points, clusters, and pairs of either kind.
    objective, cost
        Claimed cost of the clustering, and a proven upper bound on it, the exact cost rounded up; ``None`` without one.
    claimed_bound, lower_bound
        Claimed lower bound on the cost of every clustering, and what was proven, at least the claim; infinite if it was
        proven that no clustering exists.
    gap
        Proven: (cost - lower_bound) / cost; infinite without a clustering.
    n_nodes, n_leaves, n_infeasible
        Nodes of the search tree, its leaves, and the leaves that are infeasible.
    arithmetic
        ``"float"`` (with all rounding accounted for) or ``"ball"``.
    seconds
        Wall time of the check.
    """

    n: int
    k: int
    must_links: int
    cannot_links: int
    objective: float | None
    cost: float | None
    claimed_bound: float
    lower_bound: float
    gap: float
    n_nodes: int
    n_leaves: int
    n_infeasible: int
    arithmetic: Arithmetic
    seconds: float

    def sentence(self) -> str:
        """Say what was proven in one sentence; numbers are rounded so that it stays true."""
        leaves = f"{self.n_leaves} {'leaf' if self.n_leaves == 1 else 'leaves'}, {self.n_infeasible} infeasible."
        task = f"of the {_count(self.n, 'point')} into {_count(self.k, 'cluster')}"
        kept = f"{_count(self.must_links, 'must-link')} and {_count(self.cannot_links, 'cannot-link')}"
        if self.cost is None:
            if math.isinf(self.lower_bound):
                return f"Proven: no clustering {task} keeps all {kept}; {leaves}"
            return f"Proven: no clustering {task} costs less than {_digits(self.lower_bound, up=False)}; {leaves}"
        return (
            f"Proven: the clustering keeps all {kept} and costs {_digits(self.cost, up=True)}; no clustering {task} "
            f"costs less than {_digits(self.lower_bound, up=False)} (gap {100 * self.gap:.2g} %); {leaves}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, which has no infinity: ``None`` stands for it."""
        entries = asdict(self)
        return {
            key: None if isinstance(entry, float) and math.isinf(entry) else entry for key, entry in entries.items()
        }


def verify_directory(folder: Path, instance: Instance | None = None, arithmetic: Arithmetic = "float") -> Verification:
    """Prove what the certificate in ``folder`` claims, from nothing but its two files.

    Parameters
    ----------
    folder
        Where ``certificate.json`` and ``certificate.npz`` are.
    instance
        The problem as read from its original files, to be compared with the copy in the certificate.
    arithmetic
        How to compute: floating point with all rounding accounted for, or balls.

    Raises
    ------
    CertificateError
        If the certificate does not prove what it claims; the message says where it fails.
    InputError
        If its files are missing or cannot be read.
    """
    began = time.perf_counter()
    if arithmetic not in _PROVERS:
        raise InputError(f"arithmetic must be 'float' or 'ball'; got {arithmetic!r}")
    if arithmetic == "ball":
        require_flint()
    certificate = Certificate(Path(folder))
    if instance is not None:
        _compare(certificate, instance)
    data = ExactData(certificate.points, certificate.weights)
    cost = _check_clustering(certificate, data)
    outcome = _check_tree(certificate, data, arithmetic)
    proven, claimed = outcome.bound, certificate.lower_bound
    if proven < claimed:
        raise CertificateError(f"claimed lower bound {claimed!r}, but leaf {outcome.leaf} proves only {proven!r}")
    if cost is not None and proven > cost:
        raise CertificateError(f"the bound {proven!r} exceeds the cost {cost!r} of a clustering: a bug in this checker")
    return Verification(
        n=certificate.n,
        k=certificate.k,
        must_links=len(certificate.must_link),
        cannot_links=len(certificate.cannot_link),
        objective=certificate.objective,
        cost=cost,
        claimed_bound=claimed,
        lower_bound=proven,
        gap=math.inf if cost is None else 0.0 if cost == 0 else (cost - proven) / cost,
        n_nodes=len(certificate.nodes),
        n_leaves=outcome.n_leaves,
        n_infeasible=outcome.n_infeasible,
        arithmetic=arithmetic,
        seconds=time.perf_counter() - began,
    )


def _compare(certificate: Certificate, instance: Instance) -> None:
    """Require that the embedded instance is the given one."""
    if certificate.k != instance.n_clusters:
        raise CertificateError(f"the certificate is for k = {certificate.k}, not {instance.n_clusters}")
    for name in ("points", "weights", "must_link", "cannot_link"):
        ours, given = getattr(certificate, name), getattr(instance, name)
        if ours.shape != given.shape:
            raise CertificateError(f"{name} have shape {ours.shape} in the certificate, but {given.shape} in the data")
        differ = np.argwhere(ours != given)
        if differ.size:
            raise CertificateError(f"{name} in the certificate differ from the data, first in row {differ[0][0]}")


def _check_clustering(certificate: Certificate, data: ExactData) -> float | None:
    """Check labels against constraints and claimed cost; return their exact cost, rounded up."""
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
    cost = data.cost(labels, certificate.k)
    # What is proven is the exact cost. The claim is a float, computed from coordinates that were centred in floating
    # point: the square root of a cost, a seminorm of the points, moves by no more than they do.
    accuracy = 5e-13 * math.sqrt(max(objective, 0.0)) + 1e-13 * _root(data.scatter) + 1e-150
    if objective < 0 or abs(_root(cost) - math.sqrt(objective)) > accuracy:
        raise CertificateError(f"the clustering is claimed to cost {objective!r}, but costs {float(cost)!r}")
    if certificate.lower_bound > objective:
        raise CertificateError(f"the lower bound {certificate.lower_bound!r} is above the cost {objective!r}")
    return rounded_up(cost)


class _Outcome(NamedTuple):
    bound: float
    leaf: int
    n_leaves: int
    n_infeasible: int


def _check_tree(certificate: Certificate, data: ExactData, arithmetic: Arithmetic) -> _Outcome:
    """Return the least bound over all leaves. No cost is negative, so bounds start from 0."""
    children = children_of(certificate.nodes)
    least, least_leaf, n_leaves, n_infeasible = math.inf, 0, 0, 0
    root = State(certificate.n, certificate.must_link, certificate.cannot_link)
    open_nodes: list[tuple[int, State, float]] = [(0, root, 0.0)]
    while open_nodes:
        number, state, bound = open_nodes.pop()
        bound = max(bound, _check_node(certificate, data, number, state, arithmetic))
        for child in children[number]:
            child_state = state.copy()
            i, j, together = certificate.nodes[child].decision or (0, 0, True)  # only the root has none
            (child_state.unite if together else child_state.separate)(i, j)
            open_nodes.append((child, child_state, bound))
        if not children[number]:
            n_leaves += 1
            n_infeasible += certificate.nodes[number].infeasible
            if bound < least:
                least, least_leaf = bound, number
    return _Outcome(least, least_leaf, n_leaves, n_infeasible)


def _check_node(certificate: Certificate, data: ExactData, number: int, state: State, arithmetic: Arithmetic) -> float:
    """Apply the inference steps of a node to its state, and return what its proof proves."""
    node = certificate.nodes[number]
    for step, row in enumerate(certificate.merges(number).tolist()):
        state.merge(row, f"node {number}, merge {step}")
    if node.infeasible:
        if not state.is_infeasible(certificate.k):
            raise CertificateError(f"node {number} is claimed to be infeasible, but it has clusterings")
        return math.inf
    if not node.proof:
        return 0.0
    proof = certificate.proof(number)
    forbidden = state.forbidden(proof.groups, proof.size, f"node {number}")
    check_signs(proof, forbidden, f"node {number}")
    return _PROVERS[arithmetic](data, proof, forbidden, certificate.k)


def _root(value: Fraction) -> float:
    return math.sqrt(rounded_up(value))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _digits(value: float, *, up: bool) -> str:
    """Write a number with seven digits or so, rounded in the direction in which it stays true."""
    text = f"{value:.7g}"
    if (float(text) < value) if up else (float(text) > value):
        step = 10.0 ** (math.floor(math.log10(abs(value))) - 6)
        text = f"{value + step if up else value - step:.7g}"
    return text

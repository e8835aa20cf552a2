"""The rule for regions: a clustering that joins two of them costs much, any other is a clustering of each.

The points are divided into regions, and every group lies in one of them. A clustering of the state either has a cluster
with groups of two regions: then it costs at least what is inside of groups, and what joining two such groups costs, see
``joins.py``. Or it has c_r >= 1 clusters in region r, whose numbers add up to k: then it costs the sum of what these
cost as clusterings of the regions. A region with c clusters is a problem of its own, and proofs bound what it costs;
with fewer clusters it costs no less, because clusters can be split as long as there are groups, and that costs nothing.
So the least over all numbers c_r of the sum of these bounds, or what joining costs if that is less, is a bound. Sums
are exact, and rounded down once.
"""

from __future__ import annotations

import math
from collections import deque
from concurrent.futures import Future
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from certimeans._typing import IntArray
from certimeans.certificate.archive import require
from certimeans.certificate.exact import rounded_down
from certimeans.certificate.geometry import PointData
from certimeans.certificate.joins import least_join
from certimeans.certificate.parts import named
from certimeans.certificate.read import Certificate, PartProof, Step, part_path
from certimeans.certificate.state import State
from certimeans.certificate.steps import VERIFIERS_OF_PARTS, Arithmetic, Context, worker_context
from certimeans.certificate.walk import walk
from certimeans.errors import CertificateError, MalformedCertificateError

Cost = Fraction | float  # a float only for infinity


class _Claim(NamedTuple):
    """The proof number ``number`` of a step: about a region with a number of clusters."""

    number: int
    region: int
    clusters: int
    content: Any


def regions(context: Context, state: State, step: Step) -> float:
    """Prove a bound for regions with numbers of clusters, and take the least of all ways to choose these."""
    certificate, data = context.certificate, context.data
    if not (isinstance(certificate, Certificate) and isinstance(data, PointData)):
        raise MalformedCertificateError(f"{step.where}: only points have regions")
    if certificate.limits is not None:
        raise CertificateError(f"{step.where}: with limits on sizes there are no regions")
    region_of, count = certificate.regions(step)
    region_of_group, groups = _regions_of_groups(state, region_of, step)
    sizes = np.bincount(region_of_group, minlength=count).tolist()
    known: dict[tuple[int, int], float] = {}
    waiting: deque[tuple[tuple[int, int], Future[float]]] = deque()
    region, members, own = -1, np.empty(0, dtype=np.int64), state
    for claim in sorted(_claims(step, sizes), key=lambda claim: claim.region):
        where = f"{step.where}, proof {claim.number}"
        if claim.region != region:
            region, members = claim.region, np.flatnonzero(region_of == claim.region)
            own = state.restricted(members)
        place = (claim.region, claim.clusters)
        path = part_path(certificate.folder, step, claim.number)
        if context.pool is None:
            known[place] = _prove(data, context.arithmetic, path, claim, members, own.copy(), where)
            continue
        waiting.append((place, context.pool.submit(_prove_in_pool, path, claim, members, own, where)))
        if len(waiting) > 4 * context.n_jobs:  # each holds a copy of what is known of its region
            done, future = waiting.popleft()
            known[done] = future.result()
    known |= {place: future.result() for place, future in waiting}
    inside = data.cost(groups, len(region_of_group))
    joined = inside + least_join(data, groups, len(region_of_group), region_of_group)
    apart = _least_sum(_tables(known, sizes), certificate.k)
    return rounded_down(min(joined, apart) if isinstance(apart, Fraction) else joined)


def _regions_of_groups(state: State, region_of: IntArray, step: Step) -> tuple[IntArray, IntArray]:
    """Return the region of each group, and the number of the group of each point."""
    groups, size = state.numbered()
    of_group = np.empty(size, dtype=np.int64)
    of_group[groups] = region_of
    split = np.flatnonzero(of_group[groups] != region_of)
    if split.size:
        raise CertificateError(f"{step.where}: the group of point {split[0]} lies in two regions")
    return of_group, groups


def _claims(step: Step, sizes: list[int]) -> list[_Claim]:
    """Return the proofs of a step, checked for form: at most one for each region and number of clusters."""
    content = step.content.get("proofs")
    if not isinstance(content, list):
        raise MalformedCertificateError(f"{step.where}: proofs must be a list")
    found: list[_Claim] = []
    for number, one in enumerate(content):
        where = f"{step.where}, proof {number}"
        if not isinstance(one, dict):
            raise MalformedCertificateError(f"{where} is not an object")
        region, clusters = one.get("region"), one.get("clusters")
        if type(region) is not int or not 0 <= region < len(sizes):
            raise MalformedCertificateError(f"{where}: region must be one of 0..{len(sizes) - 1}")
        if type(clusters) is not int or not 1 <= clusters <= sizes[region]:
            raise MalformedCertificateError(f"{where}: clusters must be from 1 to {sizes[region]}, the region's groups")
        found.append(_Claim(number, region, clusters, one.get("proof")))
    places = [(claim.region, claim.clusters) for claim in found]
    require(len(set(places)) == len(places), f"{step.where}: two proofs for one region and number of clusters")
    return found


def _prove(
    data: PointData, arithmetic: Arithmetic, path: Path, claim: _Claim, members: IntArray, state: State, where: str
) -> float:
    """Prove the bound of a region, a problem of its own with its own number of clusters."""
    with named(where), PartProof(path, len(data.points), claim.clusters, claim.content) as proof:
        require(proof.shares is None, "the points of a region have their own weights")
        if not np.array_equal(proof.members, members):
            raise CertificateError("this is about other points than those of the region")
        own = data.part(members, data.weights[members])
        return walk(Context(proof, own, arithmetic), state, VERIFIERS_OF_PARTS).bound


def _prove_in_pool(path: Path, claim: _Claim, members: IntArray, state: State, where: str) -> float:
    data, arithmetic, _ = worker_context["context"]
    assert isinstance(data, PointData)  # noqa: S101  # regions() looked
    return _prove(data, arithmetic, path, claim, members, state, where)


def _tables(known: dict[tuple[int, int], float], sizes: list[int]) -> list[list[Cost]]:
    """Return, for each region, bounds for one cluster, two, and so on: the best for that many clusters or more."""
    tables: list[list[Cost]] = []
    for region, size in enumerate(sizes):
        best, table = 0.0, []
        for clusters in range(size, 0, -1):
            best = max(best, known.get((region, clusters), 0.0))
            table.append(math.inf if math.isinf(best) else Fraction(best))
        tables.append(table[::-1])
    return tables


def _least_sum(tables: list[list[Cost]], k: int) -> Cost:
    """Return the least sum of one entry of each table, where the numbers of clusters add up to k; infinity if none."""
    least: dict[int, Cost] = {0: Fraction(0)}
    for table in tables:
        following: dict[int, Cost] = {}
        for used, before in least.items():
            for clusters, cost in enumerate(table[: k - used], start=1):
                # A fraction beyond the largest float cannot be added to an infinite one.
                total = math.inf if math.inf in (before, cost) else before + cost
                if used + clusters not in following or total < following[used + clusters]:
                    following[used + clusters] = total
        least = following
    return least.get(k, math.inf)

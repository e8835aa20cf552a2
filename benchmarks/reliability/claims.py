"""Whether what a certificate claims is true: by enumeration, in rational numbers, from its files alone."""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.reliability.forgery import Forgery
from certimeans.certificate.verification import Verification
from tests.oracles.subsets import Sizes, Statement, inner_products

MOST_POINTS = 10  # enumeration takes longer for more
_INSTANCE = ("points", "gram", "weights", "must_link", "cannot_link", "capacity")
_known: dict[str, Fraction | None] = {}


def statement(claim: Forgery) -> Statement:
    """Return the instance that a certificate is about, exactly."""
    content, arrays = claim.content, claim.arrays
    if content["geometry"] == "gram":
        products = [[Fraction(entry) for entry in row] for row in arrays["gram"].tolist()]
    else:
        products = inner_products(arrays["points"].tolist(), standardize=content["standardize"])
    weights = [Fraction(weight) for weight in arrays["weights"].tolist()]
    links = [[(int(i), int(j)) for i, j in arrays[name]] for name in ("must_link", "cannot_link")]
    return Statement(products, weights, content["k"], links[0], links[1], _sizes(content, arrays))


def is_same_instance(first: Forgery, second: Forgery) -> bool:
    """Whether two certificates are about the same numbers, constraints and kind of cost."""
    keys = ("geometry", "standardize", "n", "d", "k")
    same = all(first.content[key] == second.content[key] for key in keys)
    same = same and (first.content.get("cluster_sizes") == second.content.get("cluster_sizes"))
    return same and all(
        np.array_equal(first.arrays[name], second.arrays[name])
        if name in first.arrays and name in second.arrays
        else (name in first.arrays) == (name in second.arrays)
        for name in _INSTANCE
    )


def falsehood(claim: Forgery, proven: Verification, upper: Fraction | None = None) -> str:
    """Say what is false about a certificate that was accepted, or empty.

    Parameters
    ----------
    proven
        What the checker says it has proven: at least what is claimed, and it must be true as well.
    upper
        The cost of some clustering, for instances that are too large for enumeration.
    """
    stated = statement(claim)
    is_small = len(stated.weights) <= MOST_POINTS
    best = _optimum(claim, stated) if is_small else upper
    bound, objective = proven.lower_bound, claim.content["objective"]
    claimed = claim.content["lower_bound"]
    if claimed is not None and not claimed <= bound:
        return f"claimed {claimed!r}, proven {bound!r}"
    if best is None and is_small:
        return "" if objective is None else "a clustering is claimed, but there is none"
    if best is not None and (bound == math.inf or (bound > -math.inf and Fraction(bound) > best)):
        return f"{bound!r} is proven, but {float(best)!r} is possible"
    told = (proven.n, proven.k, proven.must_links, proven.cannot_links, proven.standardize, proven.geometry)
    content = claim.content
    links = (len(claim.arrays["must_link"]), len(claim.arrays["cannot_link"]))
    if told != (content["n"], content["k"], *links, content["standardize"], content["geometry"]):
        return f"the instance is told as {told}"
    return _false_clustering(claim, stated, proven) or _false_result(claim, proven)


def _false_clustering(claim: Forgery, stated: Statement, proven: Verification) -> str:
    """Say what is false about the labels, their cost and the gap."""
    objective = claim.content["objective"]
    if objective is None:
        return "" if proven.cost is None and proven.gap == math.inf else "a cost without a clustering"
    labels = claim.arrays["labels"].tolist()
    if not stated.allows(labels):
        return "the labels do not keep what is stated"
    cost = stated.cost(labels)
    if proven.cost is None or not cost <= Fraction(objective) or not cost <= Fraction(proven.cost):
        return f"the labels cost {float(cost)!r}, claimed are {objective!r} and {proven.cost!r}"
    if math.isinf(proven.lower_bound):
        return "" if proven.gap == math.inf else "a gap without a bound"
    gap = Fraction(0) if cost == 0 else (cost - Fraction(proven.lower_bound)) / abs(cost)
    return "" if gap <= proven.gap else f"the gap is {float(gap)!r}, not {proven.gap!r}"


def _false_result(claim: Forgery, proven: Verification) -> str:
    """Say what ``result.json`` claims beyond what was proven."""
    result = claim.result
    if result is None:
        return ""
    if result["lower_bound"] is not None and result["lower_bound"] > proven.lower_bound:
        return f"result.json: bound {result['lower_bound']!r}"
    if result["objective"] != claim.content["objective"]:
        return f"result.json: objective {result['objective']!r}"
    if result["gap"] is not None and result["gap"] < proven.gap * (1 - 1e-12):
        return f"result.json: gap {result['gap']!r}, proven {proven.gap!r}"
    if result["status"] == "optimal" and not proven.gap * (1 - 1e-12) <= result["target_gap"]:
        return f"result.json: optimal with a gap of {proven.gap!r}"
    return ""


def _sizes(content: dict[str, Any], arrays: dict[str, Any]) -> Sizes | None:
    said = content.get("cluster_sizes")
    if said is None:
        return None
    amounts = [Fraction(x) for x in arrays["capacity"].tolist()] if said["capacity"] else [Fraction(1)] * content["n"]
    return Sizes.stated(amounts, said["size_min"], said["size_max"], said["sizes"])


def _optimum(claim: Forgery, stated: Statement) -> Fraction | None:
    """Enumerate, once for each instance."""
    digest = hashlib.sha256(json.dumps([claim.content[key] for key in ("geometry", "standardize", "k")]).encode())
    digest.update(json.dumps(claim.content.get("cluster_sizes")).encode())
    for name in _INSTANCE:
        values = claim.arrays.get(name)
        digest.update(name.encode() if values is None else values.tobytes() + repr(values.shape).encode())
    key = digest.hexdigest()
    if key not in _known:
        if len(_known) > 10_000:
            _known.clear()
        _known[key] = stated.optimum()
    return _known[key]

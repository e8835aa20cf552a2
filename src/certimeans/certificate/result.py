"""Whether ``result.json`` says no more than the certificate beside it proves."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from certimeans.certificate.archive import require
from certimeans.certificate.read import Certificate, number
from certimeans.errors import CertificateError

_STATUSES = ("optimal", "infeasible", "time_limit", "node_limit", "interrupted")
_ROUNDING = Fraction(1, 2**50)  # relative; a gap is told as a float


def compare_result(result: dict[str, Any], certificate: Certificate, bound: float, gap: Fraction | None) -> None:
    """Compare every number that both have; status and gap must follow from what was proven.

    Parameters
    ----------
    bound, gap
        What was proven: a lower bound, and the gap without rounding, if there is a clustering.

    Raises
    ------
    CertificateError
        If the result claims something else, or more.
    MalformedCertificateError
        If an entry is missing or is not what it has to be.
    """
    same = {
        "n": certificate.n,
        "d": None if certificate.is_gram else certificate.d,
        "k": certificate.k,
        "must_links": len(certificate.must_link),
        "cannot_links": len(certificate.cannot_link),
        "labels": None if certificate.labels is None else certificate.labels.tolist(),
        "objective": certificate.objective,
        "lower_bound": None if math.isinf(certificate.lower_bound) else certificate.lower_bound,
    }
    missing = [key for key in (*same, "status", "gap") if key not in result]
    require(not missing, f"result.json: {missing[0] if missing else ''} is missing")
    for key, ours in same.items():
        if (_counted_labels(result) if key == "labels" else result[key]) != ours:
            raise CertificateError(f"result.json: {key} differs from that of the certificate")
    status = result["status"]
    require(status in _STATUSES, f"result.json: the status must be one of {', '.join(_STATUSES)}")
    claimed = None if result["gap"] is None else Fraction(number(result, "gap", "result.json"))
    if claimed is not None and (gap is None or claimed < gap * (1 - _ROUNDING)):
        raise CertificateError(f"result.json: the gap {result['gap']!r} is smaller than what is proven")
    if status == "infeasible" and not (certificate.labels is None and bound == math.inf):
        raise CertificateError("result.json: the status is 'infeasible', but that no clustering exists is not proven")
    if status == "optimal":
        target = Fraction(number(result, "target_gap", "result.json"))
        if gap is None or claimed is None or max(gap, claimed * (1 - _ROUNDING)) > target:
            raise CertificateError("result.json: the status is 'optimal', but the gap that was asked for is not proven")


def _counted_labels(result: dict[str, Any]) -> Any:
    """Return the labels of the points that the certificate is about.

    Rows without a label were no points; ``weightless`` names the points that do not count.
    """
    labels, weightless = result["labels"], result.get("weightless")
    if isinstance(labels, list):
        labels = [label for label in labels if label is not None]
    if not isinstance(labels, list) or not isinstance(weightless, list) or not weightless:
        return labels
    left_out = {number for number in weightless if type(number) is int}
    return [label for point, label in enumerate(labels) if point not in left_out]

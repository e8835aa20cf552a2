"""A result as a folder holds it: enough to ask more questions about it later.

The certificate has the points, the pairs and the proof. ``problem.json`` has what only people need: names, how the
constraints were stated, which rows of a table became points.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from certimeans._typing import IntArray
from certimeans.errors import InputError
from certimeans.presolve.weightless import WithoutWeightless
from certimeans.problem.clustering import Clustering
from certimeans.problem.constraints import Constraints, PartialLabels
from certimeans.problem.instance import Instance
from certimeans.problem.io.atomic import write_atomically
from certimeans.problem.sizes import StatedSizes
from certimeans.problem.table import SourceTable
from certimeans.result import SolveResult
from certimeans.search.statistics import RunStatistics
from certimeans.status import SolveStatus

if TYPE_CHECKING:
    from certimeans.certificate.read import Certificate

PROBLEM_NAME = "problem.json"
_FORMAT = "certimeans problem"


def write_problem(result: SolveResult, folder: Path) -> None:
    """Write ``problem.json``."""
    source, instance, stated = result.source, result.instance, result.instance.constraints
    labels = stated.partial_labels
    content = {
        "format": _FORMAT,
        "format_version": 1,
        "n_rows": None if source is None else source.n_rows,
        "row_of_point": None if source is None or source.is_whole else source.row_of_point.tolist(),
        "kept": None if result.reduction is None else _unless_all(result.reduction),
        "names": None if source is None else source.names,
        "one_based": source is not None and source.one_based,
        "links_by_name": source is not None and source.links_by_name,
        "feature_names": instance.feature_names,
        "notes": result.notes,
        "constraints": {
            "must_link": stated.must_link.tolist(),
            "cannot_link": stated.cannot_link.tolist(),
            "diameter": stated.diameter,
            "split": stated.split,
            "partial_labels": None if labels is None else {"codes": labels.codes.tolist(), "names": labels.names},
        },
    }
    write_atomically(folder / PROBLEM_NAME, (json.dumps(content, allow_nan=False) + "\n").encode())


def _unless_all(reduction: WithoutWeightless) -> list[int] | None:
    return None if len(reduction.kept) == len(reduction.table) else reduction.kept.tolist()


def load_result(folder: str | Path) -> SolveResult:
    """Read a result that was saved; the checker proves its certificate again first.

    What comes back answers all questions about the clustering, but has no search tree, so it cannot be saved again.

    Parameters
    ----------
    folder
        What ``result.save`` or ``certimeans solve --out`` wrote.

    Raises
    ------
    InputError
        If the files are missing or damaged, or do not belong together.
    CertificateError
        If the certificate does not prove what it claims.
    """
    from certimeans.certificate.check import verify  # noqa: PLC0415  # the checker, which a solve does not need
    from certimeans.certificate.read import Certificate  # noqa: PLC0415

    folder = Path(folder)
    if not (folder / "certificate.json").exists():
        raise InputError(_nothing_in(folder))
    verification = verify(folder)
    with Certificate(folder) as certificate:
        if certificate.labels is None:
            raise InputError(f"{folder}: this result has no clustering, so there is nothing to ask about it")
        numbers = _read(folder / "result.json")
        problem = _read(folder / PROBLEM_NAME)
        try:
            instance = _instance(certificate, problem)
            source = _source(problem, certificate.n)
        except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            raise InputError(f"{folder / PROBLEM_NAME}: this does not describe the problem ({error})") from None
        if instance.fingerprint != certificate.fingerprint:
            raise InputError(f"{folder / PROBLEM_NAME}: this describes another problem than the certificate")
        clustering = Clustering.from_labels(instance, certificate.labels)
    status = numbers.get("status")
    seconds, gap, seed = (numbers.get(key) for key in ("time", "target_gap", "seed"))
    return SolveResult(
        instance=instance,
        status=SolveStatus(status) if status in list(SolveStatus) else SolveStatus.INTERRUPTED,
        clustering=clustering,
        lower_bound=min(verification.lower_bound, clustering.cost),
        statistics=RunStatistics(
            nodes=verification.n_entries, seconds=float(seconds) if isinstance(seconds, int | float) else 0.0
        ),
        target_gap=float(gap) if isinstance(gap, int | float) and 0 <= gap < 1 else 1e-4,
        seed=seed if type(seed) is int and seed >= 0 else 0,
        source=source,
        has_proof=False,
    )


def _nothing_in(folder: Path) -> str:
    """Say why there is no result in a folder, and where one may be."""
    if not folder.is_dir():
        return f"{folder}: there is no such folder; name one that 'certimeans solve --out' wrote"
    inside = sorted(path.parent.name for path in folder.glob("k*/certificate.json"))
    if inside:
        return f"{folder}: there is a result for each number of clusters; choose one: {', '.join(inside)}"
    return f"{folder}: there is no certificate of a result; name a folder that 'certimeans solve --out' wrote"


def _read(path: Path) -> dict[str, Any]:
    from certimeans.certificate.archive import read_json  # noqa: PLC0415

    return read_json(path) if path.exists() else {}


def _instance(certificate: Certificate, problem: dict[str, Any]) -> Instance:
    names = problem.get("feature_names")
    return Instance(
        np.array(certificate.values),
        certificate.k,
        _constraints(certificate, problem.get("constraints")),
        np.array(certificate.weights),
        None if names is None else tuple(str(name) for name in names),
        certificate.geometry,
        certificate.standardize,
    )


def _constraints(certificate: Certificate, stated: Any) -> Constraints:
    sizes = None if certificate.sizes is None else StatedSizes.create(*certificate.sizes)
    if not isinstance(stated, dict):  # a folder of an older version: the pairs are all there is
        pairs = np.array(certificate.must_link), np.array(certificate.cannot_link)
        return Constraints(*pairs, cluster_sizes=sizes)
    labels = stated.get("partial_labels")
    known = None
    if labels is not None:
        codes: IntArray = np.array(labels["codes"], dtype=np.int64)
        names = tuple(str(name) for name in labels["names"])
        if codes.shape != (certificate.n,) or codes.min() < -1 or codes.max() >= len(names):
            raise ValueError("partial_labels")
        known = PartialLabels(codes, names)
    return Constraints(stated["must_link"], stated["cannot_link"], stated["diameter"], stated["split"], known, sizes)


def _source(problem: dict[str, Any], n_points: int) -> SourceTable | None:
    """Rebuild what is known of the user's table; the numbers of points lead through both ways of leaving some out."""
    n_rows = problem.get("n_rows")
    kept = problem.get("kept")
    if n_rows is None and kept is None:
        return None
    points: IntArray = np.arange(n_points) if kept is None else np.array(kept, dtype=np.int64)
    rows = problem.get("row_of_point")
    row_of_point: IntArray = points if rows is None else np.array(rows, dtype=np.int64)[points]
    total = int(row_of_point.max()) + 1 if n_rows is None else int(n_rows)
    names = problem.get("names")
    if row_of_point.shape != (n_points,) or row_of_point.min() < 0 or row_of_point.max() >= total:
        raise ValueError("row_of_point")
    if names is not None and len(names) != total:
        raise ValueError("names")
    return SourceTable(
        total,
        row_of_point,
        None if names is None else tuple(str(name) for name in names),
        notes=tuple(str(note) for note in problem.get("notes", ())),
        one_based=bool(problem.get("one_based")),
        links_by_name=bool(problem.get("links_by_name")) and names is not None,
    )

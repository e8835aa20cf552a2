"""What callers may pass, and what the solver makes of it: shared by ``solve``, the estimator and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from certimeans.errors import ArgumentError, InputError
from certimeans.problem.instance import Instance
from certimeans.problem.io.names import PointNames
from certimeans.problem.io.points import PointsFile
from certimeans.problem.sources import is_in_chunks
from certimeans.problem.spread import dominant_feature
from certimeans.problem.table import SourceTable

LinkBy = Literal["auto", "label", "position"]


def as_n_jobs(n_jobs: object) -> int:
    """Return a number of processes: ``None`` for 1 or what a ``joblib.parallel_config`` says, -1 for all cores."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ArgumentError("n_jobs", f"must be None or an integer other than 0 (-1 for all cores); got {n_jobs!r}")
    if n_jobs == 1:
        return 1
    from joblib import effective_n_jobs  # noqa: PLC0415  # slow to import, and not always needed

    return int(effective_n_jobs(n_jobs))


def as_seed(random_state: object) -> int:
    """Return an integer as it is; draw a seed from a NumPy generator, or for ``None`` from NumPy's global one."""
    most = np.iinfo(np.int32).max
    if random_state is None:
        return int(np.random.randint(most))  # noqa: NPY002  # scikit-learn's convention: np.random.seed makes it repeat
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(most))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(most))
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise ArgumentError(
            "random_state", f"must be a non-negative integer, a NumPy generator or None; got {random_state!r}"
        )
    return int(random_state)


def as_part_size(part_size: object) -> int | Literal["auto"] | None:
    """Return a number of super-points per part, ``"auto"`` or ``None``."""
    if part_size is None:
        return None
    if isinstance(part_size, str) and part_size == "auto":
        return "auto"
    if not isinstance(part_size, Integral) or isinstance(part_size, bool) or part_size < 1:
        raise ArgumentError("part_size", f"must be a positive integer, 'auto' or None; got {part_size!r}")
    return int(part_size)


def as_source(points: Any) -> tuple[Any, SourceTable | None, tuple[str, ...] | None]:
    """Return a table of points as the solver takes it, where it came from (a DataFrame or a file), and its titles."""
    if isinstance(points, PointsFile):
        return points.values, points.table, points.feature_names
    if hasattr(points, "columns") and hasattr(points, "index") and not is_in_chunks(points):
        return points, SourceTable.of_frame(points), tuple(str(column) for column in points.columns)
    return points, None, None


def with_notes(source: SourceTable | None, instance: Instance) -> SourceTable | None:
    """Add what the user should know about the features."""
    dominant = dominant_feature(instance)
    if dominant is None:
        return source
    known = source or SourceTable(instance.n_points, np.arange(instance.n_points))
    return replace(known, notes=(*known.notes, f"{dominant}; to let all features count alike, use standardize=True"))


def as_positions(pairs: Any, source: SourceTable | None, name: str, link_by: LinkBy) -> Any:
    """Turn pairs of labels into pairs of positions; what holds positions already stays as it is.

    Parameters
    ----------
    source
        Whose index, or whose names, the labels are; ``None`` if the points have neither.
    name
        The argument, for messages.
    link_by
        ``"position"``: numbers from 0. ``"label"``: labels. ``"auto"``: labels, unless there are none or they are no
        numbers and the entry is one; an integer that may be both is refused.

    Raises
    ------
    InputError
        If a label is not known, or is not unique, or may be a position as well.
    """
    if link_by not in {"auto", "label", "position"}:
        raise ArgumentError("link_by", f"must be 'auto', 'label' or 'position'; got {link_by!r}")
    labels = _labels(source)
    if pairs is None or link_by == "position" or (labels is None and link_by == "auto"):
        return pairs
    if labels is None:
        raise InputError("link_by='label' needs points with labels: a DataFrame, or a file with a column of names")
    try:
        entries = pairs.to_numpy().tolist() if hasattr(pairs, "to_numpy") else list(pairs)
    except TypeError:
        raise InputError(f"{name} must be a sequence of pairs; got {pairs!r}") from None
    names = PointNames(labels)
    shown = PointNames(source.row_names or ()) if source is not None else names
    is_numbered = any(isinstance(label, Real) for label in labels)
    has_text = any(isinstance(label, str) for label in labels)

    def find(label: Any) -> int:
        """Look a label up; one that is no text, such as a date, may also be written as it is shown."""
        return shown.find(label) if isinstance(label, str) and not has_text else names.find(label)

    positions = []
    for number, entry in enumerate(entries):
        try:
            first, second = entry
            if link_by == "auto" and all(_is_integer(label) for label in (first, second)):
                positions.append(_surely(entry, names, len(labels), is_numbered=is_numbered))
            else:
                positions.append((find(first), find(second)))
        except InputError as error:
            raise InputError(f"{name}[{number}] = {entry!r}: {error}") from None
        except (TypeError, ValueError):
            raise InputError(f"{name} must be a sequence of pairs; {name}[{number}] is {entry!r}") from None
    return positions


def _surely(entry: Sequence[Any], names: PointNames[Any], n_points: int, *, is_numbered: bool) -> tuple[int, int]:
    """Return the positions that two integers mean, if they cannot be meant otherwise."""
    are_positions = all(0 <= label < n_points for label in entry)
    as_labels = [label if is_numbered else str(label) for label in entry]
    same = [names.get(label, -1) == int(number) for label, number in zip(as_labels, entry, strict=True)]
    if not is_numbered and not any(map(names.knows, as_labels)):
        return int(entry[0]), int(entry[1])
    if are_positions and not all(same):
        raise InputError(
            "the index of the points holds numbers other than 0, 1, 2, ..., so these may be labels of it or positions; "
            "say which with link_by='label' or link_by='position'"
        )
    return names.find(as_labels[0]), names.find(as_labels[1])


def _labels(source: SourceTable | None) -> list[Any] | None:
    if source is None or source.row_names is None:
        return None
    return list(source.row_names) if source.frame is None else source.frame.index.tolist()


def _is_integer(label: object) -> bool:
    return isinstance(label, Integral) and not isinstance(label, bool)

"""The proof of one part as a file, the way certificates have it, and back."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.proof.steps import BoundStep, CovarianceStep, RelaxationStep
from certimeans.proof.store import Arrays, Plain, from_plain, to_plain, zipped

_PREFIX = "e0s0_"


def pack_part(
    members: IntArray, shares: FloatArray | None, step: BoundStep | None, *, is_compressed: bool = True
) -> tuple[list[list[Plain]], bytes]:
    """Return the entries of a part's proof as plain data, and the file with its arrays.

    Parameters
    ----------
    members
        The points of the part, in increasing order.
    shares
        Their weights in the part; ``None`` if these are the points' own.
    step
        What proves its bound; ``None`` for a part without one.
    is_compressed
        Whether to take the time that a smaller file needs.
    """
    arrays: Arrays = {"members": members.astype("<i8")}
    if shares is not None:
        arrays["shares"] = shares.astype("<f8")
    if step is None:
        return [[]], zipped(arrays, is_compressed=is_compressed)
    plain, own = to_plain(step)
    arrays |= {f"{_PREFIX}{name}": values for name, values in own.items()}
    return [[plain]], zipped(arrays, is_compressed=is_compressed)


def unpack_part(entries: Sequence[Sequence[Mapping[str, Any]]], file: Path | bytes) -> BoundStep | None:
    """Return the step of a stored part.

    Raises
    ------
    ValueError, KeyError, TypeError, OSError
        If it is no such thing.
    """
    if len(entries) != 1 or len(entries[0]) > 1:
        raise ValueError("not the proof of a part")
    if not entries[0]:
        return None
    with np.load(io.BytesIO(file) if isinstance(file, bytes) else file, allow_pickle=False) as archive:
        arrays = {name.removeprefix(_PREFIX): archive[name] for name in archive.files if name.startswith(_PREFIX)}
    step = from_plain(entries[0][0], arrays)
    if not isinstance(step, (CovarianceStep, RelaxationStep)):
        raise ValueError("a step that proves no bound")  # noqa: TRY004  # a file's fault
    return step


def unpack_part_of(
    entries: Sequence[Sequence[Mapping[str, Any]]], file: bytes, members: IntArray, shares: FloatArray | None
) -> BoundStep | None:
    """Return the step of a stored part, whose file can be put into a certificate as it is; see :func:`pack_part`.

    Raises
    ------
    ValueError, KeyError, TypeError, OSError
        If it is no such thing, or that of another part.
    """
    step = unpack_part(entries, file)
    plain, own = ({}, {}) if step is None else to_plain(step)
    names = {"members", *(f"{_PREFIX}{name}" for name in own)} | (set() if shares is None else {"shares"})
    with np.load(io.BytesIO(file), allow_pickle=False) as archive:
        if set(archive.files) != names or entries != ([[plain]] if plain else [[]]):
            raise ValueError("more or less than a proof")
        is_same = np.array_equal(archive["members"], members)
        if not is_same or (shares is not None and not np.array_equal(archive["shares"], shares)):
            raise ValueError("the proof of another part")
    return step

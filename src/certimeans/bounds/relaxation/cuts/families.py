"""Cut families from outside: functions that look for integer vectors b; see :mod:`.pool` for why all are valid."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from certimeans._typing import FloatArray
from certimeans.bounds.relaxation.cuts.pool import MAX_SUPPORT, Cuts
from certimeans.errors import InputError
from certimeans.plugins import Plugin, load_plugin, name_of

_LARGEST = 100  # of an entry of b: they are kept in a byte, also after several were merged


def cuts_of_families(families: Iterable[Plugin], shared: FloatArray, threshold: float, seed: int) -> Cuts:
    """Return the cuts that families find, with multiplier 0, each once.

    A family is a function of Z (read-only), the smallest violation worth a cut, and a seed. It returns members and
    coefficients, two arrays of integers with a row for each cut (a member with coefficient 0 does not count), or
    nothing: empty ones, or ``None``.

    Raises
    ------
    InputError
        If what a family returns are no cuts.
    """
    matrix = shared.view()
    matrix.flags.writeable = False
    found = Cuts.none()
    for family in families:
        returned = load_plugin(family, "cuts")(matrix, threshold, seed)
        if returned is None:
            continue
        try:
            members, coefficients = returned
            found = found.extended(_as_cuts(np.asarray(members), np.asarray(coefficients), len(shared)))
        except (TypeError, ValueError) as error:
            raise InputError(f"the cut family {name_of(family)} returned no cuts: {error}") from None
    return found


def _as_cuts(members: np.ndarray, coefficients: np.ndarray, size: int) -> Cuts:
    if members.size == 0 and coefficients.size == 0:
        return Cuts.none()
    if members.shape != coefficients.shape or members.ndim != 2 or members.shape[1] > MAX_SUPPORT:
        raise ValueError(
            f"members and coefficients must be two tables of one shape, with at most {MAX_SUPPORT} columns"
        )
    if members.dtype.kind not in "iu" or coefficients.dtype.kind not in "iu":
        raise ValueError("members and coefficients must be integers")
    used = coefficients != 0
    if (np.abs(coefficients.astype(np.int64)) > _LARGEST).any():
        raise ValueError(f"coefficients must be at most {_LARGEST} in size")
    if (members[used] < 0).any() or (members[used] >= size).any():
        raise ValueError("members must be numbers of super-points")
    ordered = np.sort(np.where(used, members.astype(np.int64), -1 - np.arange(members.shape[1])), axis=1)
    if (np.diff(ordered, axis=1) == 0).any():
        raise ValueError("a cut has a member twice")
    return Cuts.new(members.astype(np.int64), coefficients.astype(np.int64))

"""Points that are not in memory: mapped files, and Dask arrays in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np

from certimeans._typing import FloatArray
from certimeans.errors import InputError


def is_mapped(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array is a file, mapped for reading only, or a view of one."""
    base: object = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.mode == "r":
            return not array.flags.writeable
        base = base.base
    return False


def as_mapped_table(array: np.ndarray[Any, Any]) -> FloatArray | None:
    """Return a mapped table of doubles as it is, without reading it; ``None`` for any other array."""
    is_table = array.ndim == 2 and array.dtype == np.float64 and array.dtype.isnative and array.flags.c_contiguous
    return array.view(np.ndarray) if is_table and array.flags.aligned and is_mapped(array) else None


def is_in_chunks(points: Any) -> bool:
    """Whether points are a Dask array or a Dask DataFrame; Dask is not imported for that."""
    return hasattr(points, "__dask_graph__") and (hasattr(points, "chunks") or hasattr(points, "to_dask_array"))


def collect_chunks(points: Any) -> Any:
    """Compute a Dask array one block of rows after the other, into one table.

    The cluster computes and keeps the blocks; only one at a time is copied here beside the table.

    Raises
    ------
    InputError
        If the number of rows is not known, or the array is not a table of real numbers.
    """
    if not hasattr(points, "chunks"):
        points = points.to_dask_array(lengths=True)
    if points.ndim != 2 or points.dtype.kind not in "biuf":
        return points.compute()  # the caller says what is wrong with it, as for any other array
    rows = points.chunks[0]
    if any(np.isnan(count) for count in rows) or np.isnan(points.shape[1]):
        raise InputError(
            "the Dask array does not know how many rows its chunks have; call points.compute_chunk_sizes() first"
        )
    table = np.empty(points.shape)
    end = 0
    for number, count in enumerate(rows):
        with np.errstate(over="ignore"):  # what overflows becomes inf and is reported with its place
            table[end : end + count] = points.blocks[number].compute()
        end += count
    return table

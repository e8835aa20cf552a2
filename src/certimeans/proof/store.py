"""Steps as a JSON object and arrays, and back: the one place that knows how a step is stored.

Checkpoints and certificates hold the same. Names and types are those of docs/certificate.md.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certimeans.proof.steps import (
    BlockStep,
    BranchStep,
    CovarianceStep,
    IdenticalStep,
    InfeasibleStep,
    MergeStep,
    RelaxationStep,
    SizeBranchStep,
    Step,
)

Arrays = dict[str, NDArray[Any]]
Plain = dict[str, Any]

_SAMPLED_FROM, _SAMPLE = 2**22, 2**16
"""From the first number of bytes on, an array is compressed only if a sample, the second number, shows that it pays."""
_WORTHWHILE = 0.9

_WITHOUT_DATA: dict[str, Step] = {step.kind: step for step in (IdenticalStep(), CovarianceStep(), InfeasibleStep())}
_RELAXATION_ARRAYS = {
    # name in the file: (field of the step, type)
    "groups": ("group_of", "<i8"),
    "cut_start": ("cut_start", "<i8"),
    "cut_member": ("cut_member", "<i4"),
    "cut_coefficient": ("cut_coefficient", "|i1"),
    "cut_multiplier": ("cut_multiplier", "<f8"),
    "slack": ("slack", "<f4"),
}
_BLOCK_ARRAYS = _RELAXATION_ARRAYS | {
    "block_start": ("block_start", "<i8"),
    "link": ("links", "<i4"),
    "link_multiplier": ("link_multiplier", "<f8"),
    "row_multiplier": ("row_multiplier", "<f8"),
}


def to_plain(step: Step) -> tuple[Plain, Arrays]:
    """Take a step apart into what goes into JSON and what goes beside it."""
    plain: Plain = {"kind": step.kind}
    arrays: Arrays = {}
    if isinstance(step, MergeStep):
        arrays["rows"] = step.rows.astype("<i8")
    elif isinstance(step, RelaxationStep):
        plain |= {"unit": step.unit, "weight_unit": step.weight_unit}
        for name, (field, dtype) in _RELAXATION_ARRAYS.items():
            arrays[name] = getattr(step, field).astype(dtype)
        if step.anchors:
            plain["anchors"] = list(step.anchors)
        if step.size_multiplier is not None:
            arrays["size_multiplier"] = step.size_multiplier.astype("<f8")
    elif isinstance(step, BlockStep):
        plain["unit"] = step.unit
        arrays |= {name: getattr(step, field).astype(dtype) for name, (field, dtype) in _BLOCK_ARRAYS.items()}
    elif isinstance(step, BranchStep):
        plain |= {"pair": [step.i, step.j], "together": step.together, "apart": step.apart}
    elif isinstance(step, SizeBranchStep):
        plain |= {"point": step.point, "entries": list(step.entries)}
    return plain, arrays


def from_plain(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Step:
    """Put together what :func:`to_plain` took apart.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it is no such thing.
    """
    kind = plain["kind"]
    if kind == MergeStep.kind:
        return MergeStep(arrays["rows"].astype(np.int64))
    if kind in _WITHOUT_DATA:
        return _WITHOUT_DATA[kind]
    if kind == BranchStep.kind:
        i, j = plain["pair"]
        return BranchStep(int(i), int(j), int(plain["together"]), int(plain["apart"]))
    if kind == SizeBranchStep.kind:
        return SizeBranchStep(int(plain["point"]), tuple(int(entry) for entry in plain["entries"]))
    if kind == RelaxationStep.kind:
        sizes = arrays.get("size_multiplier")
        return RelaxationStep(
            unit=float(plain["unit"]),
            weight_unit=float(plain["weight_unit"]),
            size_multiplier=None if sizes is None else np.ascontiguousarray(sizes.astype(np.float64)),
            anchors=tuple(int(a) for a in plain.get("anchors", ())),
            **_fields(arrays, _RELAXATION_ARRAYS),
        )
    if kind == BlockStep.kind:
        return BlockStep(unit=float(plain["unit"]), **_fields(arrays, _BLOCK_ARRAYS))
    raise ValueError(f"unknown kind of step {kind!r}")


def _fields(arrays: Mapping[str, NDArray[Any]], names: Mapping[str, tuple[str, str]]) -> Arrays:
    return {
        field: np.ascontiguousarray(arrays[name].astype(np.dtype(dtype).newbyteorder("=")))
        for name, (field, dtype) in names.items()
    }


def pack(steps: Sequence[Step]) -> tuple[list[Plain], Arrays]:
    """Take a list of steps apart; the arrays of step s are named ``s{s}_{name}``."""
    entries: list[Plain] = []
    arrays: Arrays = {}
    for s, step in enumerate(steps):
        plain, own = to_plain(step)
        entries.append(plain)
        arrays |= {f"s{s}_{name}": values for name, values in own.items()}
    return entries, arrays


def unpack(entries: Sequence[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]]) -> tuple[Step, ...]:
    """Put together what :func:`pack` took apart.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it is no such thing.
    """
    own: list[Arrays] = [{} for _ in entries]
    for name, values in arrays.items():
        place, _, rest = name.partition("_")
        own[int(place.removeprefix("s"))][rest] = values
    return tuple(from_plain(plain, mine) for plain, mine in zip(entries, own, strict=True))


def zipped(arrays: Arrays, *, is_compressed: bool = True) -> bytes:
    """Pack arrays as ``numpy.savez_compressed`` does, but with dates that do not change from run to run."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, values in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(values), allow_pickle=False)
            pays = is_compressed and _can_be_compressed(content.getbuffer())
            entry.compress_type = zipfile.ZIP_DEFLATED if pays else zipfile.ZIP_STORED
            archive.writestr(entry, content.getbuffer(), compresslevel=1)
    return buffer.getvalue()


def _can_be_compressed(content: memoryview) -> bool:
    """Whether much is gained: measurements with all their digits gain nothing, and take seconds if there are many."""
    if len(content) < _SAMPLED_FROM:
        return True
    sample = content[len(content) // 2 :][:_SAMPLE]
    return len(zlib.compress(sample, 1)) < _WORTHWHILE * len(sample)

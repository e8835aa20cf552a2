"""Damage to the files themselves."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracles.tampering.common import (
    FILE_TAMPERINGS,
)


def _file_tampering(function: Callable[[Path], None]) -> Callable[[Path], None]:
    FILE_TAMPERINGS[function.__name__] = function
    return function


def _file_tampering_with_links(function: Callable[[Path], None]) -> Callable[[Path], None]:
    """Register it where there are pipes, devices and links: not on Windows."""
    return function if sys.platform == "win32" else _file_tampering(function)


@_file_tampering
def truncated_npz(folder: Path) -> None:
    path = folder / "certificate.npz"
    path.write_bytes(path.read_bytes()[:-100])


@_file_tampering
def damaged_npz(folder: Path) -> None:
    path = folder / "certificate.npz"
    content = bytearray(path.read_bytes())
    content[content.index(b"weights.npy") + 60] ^= 1  # within the array
    path.write_bytes(bytes(content))


@_file_tampering
def empty_npz(folder: Path) -> None:
    (folder / "certificate.npz").write_bytes(b"")


@_file_tampering
def npz_with_something_before_it(folder: Path) -> None:
    """Zip archives are found from their end; NumPy takes this one for a pickle."""
    path = folder / "certificate.npz"
    path.write_bytes(b"x" + path.read_bytes())


@_file_tampering
def missing_npz(folder: Path) -> None:
    (folder / "certificate.npz").unlink()


@_file_tampering
def pickled_array(folder: Path) -> None:
    path = folder / "certificate.npz"
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["weights"] = arrays["weights"].astype(object)
    np.savez(path, allow_pickle=True, **arrays)


@_file_tampering
def header_that_promises_too_much(folder: Path) -> None:
    path = folder / "certificate.npz"
    content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    content["n"] = 2**30
    (folder / "certificate.json").write_text(json.dumps(content), encoding="utf-8")
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (2**30, content["d"] or 2**30)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{content['geometry']}.npy", stream.getvalue())


@_file_tampering
def truncated_json(folder: Path) -> None:
    path = folder / "certificate.json"
    path.write_bytes(path.read_bytes().rstrip()[:-1])


@_file_tampering
def json_with_nan(folder: Path) -> None:
    path = folder / "certificate.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "lower_bound": float("nan")}), encoding="utf-8")


@_file_tampering
def json_with_a_number_too_large(folder: Path) -> None:
    path = folder / "certificate.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "lower_bound": 0}).replace('"lower_bound": 0', '"lower_bound": -1e999'))


@_file_tampering
def json_is_a_list(folder: Path) -> None:
    (folder / "certificate.json").write_text("[]", encoding="utf-8")


@_file_tampering
def json_nested_too_deep(folder: Path) -> None:
    (folder / "certificate.json").write_text("[" * 100_000 + "]" * 100_000, encoding="utf-8")


@_file_tampering
def json_with_a_huge_integer(folder: Path) -> None:
    path = folder / "certificate.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "n": 0}).replace('"n": 0', f'"n": {"9" * 100_000}'), encoding="utf-8")


@_file_tampering
def json_with_a_key_twice(folder: Path) -> None:
    path = folder / "certificate.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("{", '{"lower_bound": 0.0, ', 1), encoding="utf-8")


@_file_tampering
def json_in_another_encoding(folder: Path) -> None:
    (folder / "certificate.json").write_bytes("{}".encode("utf-16"))


@_file_tampering_with_links
def json_is_a_pipe(folder: Path) -> None:
    (folder / "certificate.json").unlink()
    os.mkfifo(folder / "certificate.json")


@_file_tampering_with_links
def npz_is_a_pipe(folder: Path) -> None:
    (folder / "certificate.npz").unlink()
    os.mkfifo(folder / "certificate.npz")


@_file_tampering_with_links
def npz_is_a_device(folder: Path) -> None:
    (folder / "certificate.npz").unlink()
    (folder / "certificate.npz").symlink_to("/dev/zero")


@_file_tampering
def json_is_a_folder(folder: Path) -> None:
    (folder / "certificate.json").unlink()
    (folder / "certificate.json").mkdir()


@_file_tampering_with_links
def json_is_a_link_to_itself(folder: Path) -> None:
    (folder / "certificate.json").unlink()
    (folder / "certificate.json").symlink_to("certificate.json")


def _rewritten(folder: Path, name: str, content: bytes, **options: Any) -> None:
    """Replace one file of the archive."""
    path = folder / "certificate.npz"
    with zipfile.ZipFile(path) as archive:
        others = {entry: archive.read(entry) for entry in archive.namelist() if entry != name}
    with zipfile.ZipFile(path, "w") as archive:
        for entry, data in others.items():
            archive.writestr(entry, data)
        archive.writestr(name, content, **options)


def _weights(folder: Path) -> bytes:
    with zipfile.ZipFile(folder / "certificate.npz") as archive:
        return archive.read("weights.npy")


@_file_tampering
def array_that_expands_to_much_more(folder: Path) -> None:
    content = _weights(folder) + bytes(50_000_000)
    _rewritten(folder, "weights.npy", content, compress_type=zipfile.ZIP_DEFLATED)


@_file_tampering
def pairs_that_expand_to_much_more(folder: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.zeros((3_000_000, 2), dtype=np.int64))
    _rewritten(folder, "must_link.npy", stream.getvalue(), compress_type=zipfile.ZIP_DEFLATED)


@_file_tampering
def size_in_the_directory_is_a_lie(folder: Path) -> None:
    """Let the directory of the archive say that 4 GB are there."""
    path = folder / "certificate.npz"
    content = bytearray(path.read_bytes())
    central = content.rindex(b"weights.npy") - 46
    content[central + 24 : central + 28] = b"\xfe\xff\xff\xff"
    path.write_bytes(bytes(content))


@_file_tampering
def compressed_by_lzma(folder: Path) -> None:
    _rewritten(folder, "weights.npy", _weights(folder), compress_type=zipfile.ZIP_LZMA)


@_file_tampering
def compressed_by_bzip2(folder: Path) -> None:
    _rewritten(folder, "weights.npy", _weights(folder), compress_type=zipfile.ZIP_BZIP2)


@_file_tampering
def damaged_deflate_stream(folder: Path) -> None:
    _rewritten(folder, "weights.npy", _weights(folder) + bytes(500), compress_type=zipfile.ZIP_DEFLATED)
    path = folder / "certificate.npz"
    content = bytearray(path.read_bytes())
    start = content.index(b"weights.npy") + 14
    content[start : start + 20] = bytes([0xFF] * 20)
    path.write_bytes(bytes(content))


@_file_tampering
def array_twice(folder: Path) -> None:
    with warnings.catch_warnings(), zipfile.ZipFile(folder / "certificate.npz", "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("weights.npy", archive.read("weights.npy"))


def _with_header(header: bytes) -> Callable[[Path], None]:
    def replace(folder: Path) -> None:
        content = _weights(folder)
        data = content[10 + int.from_bytes(content[8:10], "little") :]
        _rewritten(folder, "weights.npy", content[:8] + len(header).to_bytes(2, "little") + header + data)

    return replace


for _name, _header in {
    "is_empty": b"",
    "is_a_number": b"7",
    "is_a_call": b"__import__('os').getcwd()",
    "has_no_shape": b"{'descr': '<f8', 'fortran_order': False}",
    "has_a_negative_shape": b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
    "has_a_shape_of_text": b"{'descr': '<f8', 'fortran_order': False, 'shape': 'x'}",
    "has_a_huge_shape": b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 3000 + b",)}",
    "has_fields": b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
    "has_objects": b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
    "is_nested_too_deep": b"(" * 3500,
    "is_another_endianness": b"{'descr': '>f8', 'fortran_order': False, 'shape': (1,)}",
}.items():
    FILE_TAMPERINGS[f"npy_header_{_name}"] = _with_header(_header)


@_file_tampering
def npy_header_padded_with_another_space(folder: Path) -> None:
    """End the header with a space that does not break lines, which NumPy refuses, too."""
    content = _weights(folder)
    end = 10 + int.from_bytes(content[8:10], "little")
    _rewritten(folder, "weights.npy", content[: end - 2] + b"\xa0" + content[end - 1 :])

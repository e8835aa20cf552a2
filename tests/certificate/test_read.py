import json
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certimeans.certificate.check import verify
from certimeans.errors import CertificateError, InputError
from tests.oracles.certificates import Draft, empty_certificate, fingerprint, optimality_certificate
from tests.oracles.instances import SmallInstance

SMALL = SmallInstance([[0.0], [1.0], [5.0], [6.0], [3.0]], 2, [(0, 1)], [(1, 2)], None)
GENUINE = optimality_certificate(SMALL)
PLACES: list[tuple[Any, ...]] = [(key,) for key in GENUINE.content] + [
    ("proof", e, s, key)
    for e, entry in enumerate(GENUINE.content["proof"])
    for s, step in enumerate(entry)
    for key in step
]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)


def is_verified(folder: Path) -> bool:
    """Verify; only the two documented errors may come out."""
    try:
        verify(folder)
    except (CertificateError, InputError):
        return False
    return True


@settings(max_examples=300, deadline=None)
@given(place=st.sampled_from(PLACES), value=JUNK)
def test_junk_in_the_json_never_crashes(place: tuple[Any, ...], value: Any) -> None:
    """Any value in any place is an error or harmless: never a crash, never a bound above the truth."""
    content = json.loads(json.dumps(GENUINE.content))
    target = content
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    with TemporaryDirectory() as name:
        folder = GENUINE._replace(content=content).write(Path(name))
        if is_verified(folder) and place == ("lower_bound",):
            assert value <= GENUINE.content["objective"]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_damaged_bytes_never_crash(data: st.DataObject) -> None:
    """Changed and missing bytes in the archive are an error or harmless."""
    with TemporaryDirectory() as name:
        folder = GENUINE.write(Path(name))
        path = folder / "certificate.npz"
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 5))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))]))
        is_verified(folder)


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(sorted(GENUINE.arrays)),
    kind=st.sampled_from(["f8", "f4", "i8", "i4", "i1", "?", "U3", "c16", "M8[s]"]),
    shape=st.lists(st.integers(0, 6), max_size=3),
)
def test_arrays_of_any_type_and_shape_never_crash(name: str, kind: str, shape: list[int]) -> None:
    """Arrays of zeros in every place: an error, or harmless."""
    with TemporaryDirectory() as folder:
        draft = GENUINE._replace(arrays={**GENUINE.arrays, name: np.zeros(shape, dtype=kind)})
        is_verified(draft.write(Path(folder)))


def peak_of_verifying(draft: Draft, folder: Path) -> tuple[str, int]:
    """Verify a certificate with compressed arrays; return the complaint and the most memory that was taken, in MB."""
    draft.content["fingerprint"] = fingerprint(draft.content, draft.arrays)
    draft.write(folder)
    np.savez_compressed(folder / "certificate.npz", **draft.arrays)
    complaint = ""
    tracemalloc.start()
    try:
        verify(folder)
    except CertificateError as error:
        complaint = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return complaint, peak // 2**20


def many_points(n: int, k: int) -> Draft:
    draft = empty_certificate(SmallInstance([[float(i)] for i in range(3)], 1, [], [], None))
    draft.content.update(n=n, k=k)
    draft.arrays.update(points=np.arange(float(n)).reshape(-1, 1), weights=np.ones(n))
    return draft


def test_pairs_are_refused_at_the_first_block_that_is_wrong(tmp_path: Path) -> None:
    """As many pairs as n points can have, 32 MB of zeros, are not expanded."""
    draft = many_points(2000, 2)
    draft.arrays["cannot_link"] = np.zeros((2000 * 1999 // 2, 2), dtype=np.int64)
    complaint, peak = peak_of_verifying(draft, tmp_path)
    assert "cannot_link: the smaller number comes first" in complaint
    assert peak < 20


def test_rows_of_a_merge_are_expanded_block_by_block(tmp_path: Path) -> None:
    """A merge of 30 MB whose rows say nothing costs time, not memory."""
    draft = many_points(2000, 1999)
    draft.add(0, "merge", {"rows": np.zeros((2000, 2000), dtype=np.int64)})
    complaint, peak = peak_of_verifying(draft, tmp_path)
    assert complaint == ""
    assert peak < 20


def test_an_array_that_memory_has_no_room_for_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal names the array."""
    monkeypatch.setattr("certimeans.certificate.archive._SMALL", 1000)
    monkeypatch.setattr("certimeans.certificate.archive._free_memory", lambda: 10_000.0)
    complaint, _ = peak_of_verifying(many_points(2000, 2), tmp_path)
    assert "not enough memory to read points" in complaint


def test_arrays_are_in_c_order(tmp_path: Path) -> None:
    """The format says so; blocks of rows could not be read otherwise."""
    draft = many_points(5, 2)
    draft.content["d"] = 2
    draft.arrays["points"] = np.asfortranarray(np.arange(10.0).reshape(5, 2))
    draft.content["fingerprint"] = fingerprint(draft.content, draft.arrays)
    with pytest.raises(InputError, match="not in C order"):
        verify(draft.write(tmp_path))

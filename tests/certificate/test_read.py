import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certimeans.certificate.check import verify
from certimeans.errors import CertificateError, InputError
from tests.oracles.certificates import optimality_certificate
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

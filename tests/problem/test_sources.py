from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from certimeans import solve
from certimeans.errors import InputError
from certimeans.problem.instance import Instance
from certimeans.problem.io.files import read_points
from certimeans.problem.sources import is_mapped
from certimeans.problem.validation import as_points

POINTS = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0], [9.0, 0.0]])


def mapped(folder: Path, values: np.ndarray = POINTS, mode: Literal["r", "r+"] = "r") -> np.ndarray:
    np.save(folder / "points.npy", values)
    array: np.ndarray = np.load(folder / "points.npy", mmap_mode=mode)
    return array


def test_a_mapped_table_of_doubles_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays the file; so does what read_points returns, if it is large."""
    array = mapped(tmp_path)
    table = as_points(array)
    assert np.shares_memory(table, array)
    assert is_mapped(table)
    assert not is_mapped(read_points(tmp_path / "points.npy").values)
    monkeypatch.setattr("certimeans.problem.io.points._SMALLEST_MAPPED", 0)
    assert is_mapped(read_points(tmp_path / "points.npy").values)
    assert is_mapped(Instance.create(array, 2).points)


def test_what_could_change_or_is_no_table_of_doubles_is_copied(tmp_path: Path) -> None:
    """A mapping for writing, other types, and other orders are ordinary points."""
    assert not is_mapped(as_points(mapped(tmp_path, mode="r+")))
    for values in (POINTS.astype(np.float32), np.asfortranarray(POINTS), POINTS.astype(">f8")):
        table = as_points(mapped(tmp_path, values))
        assert not is_mapped(table)
        np.testing.assert_array_equal(table, POINTS)


def test_a_mapped_problem_is_the_same_problem(tmp_path: Path) -> None:
    """Same fingerprint, same answer."""
    array = mapped(tmp_path)
    assert Instance.create(array, 2).fingerprint == Instance.create(POINTS, 2).fingerprint
    assert solve(array, 2).objective == solve(POINTS, 2).objective


def test_a_file_that_changes_during_the_solve_is_an_error(tmp_path: Path) -> None:
    """Better no result than one about points that no longer exist."""
    instance = Instance.create(mapped(tmp_path), 2)
    instance.check_unchanged()
    with (tmp_path / "points.npy").open("r+b") as file:
        file.seek(-8, 2)
        file.write(np.array([7.0]).tobytes())
    with pytest.raises(InputError, match="was changed during the solve"):
        instance.check_unchanged()


def test_the_place_of_a_bad_number_is_named_in_any_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one, and how many there are."""
    monkeypatch.setattr("certimeans.problem.validation._BLOCK", 2)
    values = POINTS.copy()
    values[3, 1] = values[4, 0] = np.nan
    with pytest.raises(InputError, match=r"points\[3, 1\] is nan.*\(2 such entries\)"):
        as_points(mapped(tmp_path, values))


def test_a_dask_array_is_computed_block_by_block() -> None:
    """In rows and in columns; the answer is that of the same points in memory."""
    dask_array = pytest.importorskip("dask.array")
    chunked = dask_array.from_array(POINTS, chunks=(2, 1))
    np.testing.assert_array_equal(as_points(chunked), POINTS)
    assert solve(chunked, 2).objective == solve(POINTS, 2).objective
    np.testing.assert_array_equal(as_points(chunked.astype("f4")), POINTS)
    with pytest.raises(InputError, match="2-D table"):
        as_points(chunked[0])
    with pytest.raises(InputError, match="complex"):
        as_points(chunked * 1j)


def test_a_dask_array_of_unknown_length_says_what_to_do() -> None:
    """Boolean selection leaves the number of rows open."""
    dask_array = pytest.importorskip("dask.array")
    chunked = dask_array.from_array(POINTS, chunks=2)
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        as_points(chunked[chunked[:, 0] > 1])


def test_never_more_than_one_block_is_computed_at_a_time() -> None:
    """Beside the table there is one block, whatever the number of them."""
    dask_array = pytest.importorskip("dask.array")
    sizes: list[int] = []

    def note(block: np.ndarray) -> np.ndarray:
        sizes.append(len(block))
        return block

    chunked = dask_array.from_array(POINTS, chunks=(2, 2)).map_blocks(note, dtype=np.float64, meta=np.empty((0, 0)))
    np.testing.assert_array_equal(as_points(chunked), POINTS)
    assert sizes == [2, 2, 1]

import errno
import logging
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from certimeans import InputError, SolveStatus, solve
from certimeans.problem.io import atomic
from certimeans.problem.io.atomic import write_atomically
from certimeans.search import checkpoint, checkpointer
from certimeans.search.checkpoint import CheckpointStore
from certimeans.search.checkpointer import Checkpointer
from tests.search.test_checkpoint import SAVED, assert_same, store_in
from tests.search.test_solve import branching_points


@pytest.fixture
def no_space(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Make every write fail as on a full disk, until the context is left."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "_replace", fail)
        yield patch


def test_a_failed_save_is_said_once_and_tried_again(
    tmp_path: Path, no_space: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The checkpoint before stays whole; once there is space, saving works again."""
    store = store_in(tmp_path)
    with pytest.MonkeyPatch.context() as space:
        space.setattr(atomic, "_replace", lambda target, data: target.write_bytes(data))
        store.save(SAVED)
    saver = Checkpointer(store_in(tmp_path))
    for _ in range(3):
        saver.save(lambda: SAVED, force=True)
    assert len(caplog.records) == 1
    assert "No space left" in saver.message
    assert_same(store.load(), SAVED)
    no_space.undo()
    saver.save(lambda: SAVED, force=True)
    assert saver.message == ""
    assert_same(store.load(), SAVED)
    assert len(caplog.records) == 1


def test_saves_keep_their_distance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the interval nothing is written, unless it is forced; without a store nothing ever is."""
    calls: list[object] = []
    monkeypatch.setattr(CheckpointStore, "save", lambda _, search: calls.append(search))
    saver = Checkpointer(store_in(tmp_path))
    for force in (False, False, False, True):
        saver.save(lambda: SAVED, force=force)
    assert len(calls) == 2
    Checkpointer(None).save(lambda: SAVED, force=True)
    assert len(calls) == 2


def test_a_full_disk_costs_the_checkpoint_not_the_search(
    tmp_path: Path, no_space: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The optimum is proven all the same; a warning and the result's message say that nothing was saved."""
    no_space.setattr(checkpointer, "SECONDS_BETWEEN_SAVES", 0.0)
    result = solve(branching_points(), 8, checkpoint=tmp_path, gap=0.002)
    assert result.status is SolveStatus.OPTIMAL
    assert "could not be saved" in result.message
    assert "No space left" in result.message
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert not (tmp_path / "checkpoint.json").exists()


def test_a_small_file_system_that_fills_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real one: the search ends with the optimum, what was saved before is whole, and it resumes elsewhere."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    options: list[str | Path] = ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
    if (
        mount is None
        or umount is None
        or subprocess.run([mount, *options], capture_output=True, check=False).returncode
    ):
        pytest.skip("mounting is not possible here")
    try:
        monkeypatch.setattr(checkpointer, "SECONDS_BETWEEN_SAVES", 0.0)
        result = solve(branching_points(), 8, checkpoint=folder / "saved")
        assert result.status is SolveStatus.OPTIMAL
        assert "could not be saved" in result.message
        assert not list((folder / "saved").glob("*.tmp"))
        again = solve(branching_points(), 8, checkpoint=folder / "saved", max_nodes=1)
        assert again.lower_bound <= result.objective
    finally:
        subprocess.run([umount, folder], check=True)


def test_a_folder_that_cannot_be_used_is_found_out_before_the_search(tmp_path: Path) -> None:
    """A file in its place is bad input, and named."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="file"):
        solve([[0.0], [1.0], [5.0]], 2, checkpoint=tmp_path / "file")


def test_there_is_a_checkpoint_at_every_moment_of_a_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each step of a save the newest file is there and whole, and files that nobody names are removed."""
    store = store_in(tmp_path)
    store.save(SAVED)
    (tmp_path / "proofs" / "9-left_over.npz").write_bytes(b"")
    seen = 0

    def look(original: Callable[..., object]) -> Callable[..., None]:
        def step(*arguments: object) -> None:
            nonlocal seen
            assert_same(store_in(tmp_path).load(), SAVED)
            assert (tmp_path / "checkpoint.json").exists()
            seen += 1
            original(*arguments)

        return step

    monkeypatch.setattr(checkpoint, "write_atomically", look(write_atomically))
    monkeypatch.setattr(checkpoint, "_copy", look(checkpoint._copy))
    monkeypatch.setattr(Path, "replace", look(Path.replace))
    store.save(SAVED)
    assert seen >= 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint.json",
        "checkpoint.previous.json",
        "proofs",
    ]
    assert len(list((tmp_path / "proofs").iterdir())) == 1

import errno
import json
import os
import re
from pathlib import Path

import pytest

from certimeans import InputError
from certimeans.cli import main
from certimeans.problem.io import atomic
from certimeans.report.directory import prepare_directory
from tests.report.examples import blobs

RESULT = blobs(9, 2, 3)


@pytest.fixture
def points(tmp_path: Path) -> Path:
    """Four points on a line, two and two, with names."""
    path = tmp_path / "points.csv"
    path.write_text("name,x\na,0\nb,1\nc,10\nd,11\n", encoding="utf-8")
    return path


def solve_to(points: Path, out: Path, *options: str) -> int:
    """Run the command line."""
    return main(["solve", str(points), "-k", "2", "--quiet", "--out", str(out), *options])


def test_a_folder_is_made_and_left_clean(tmp_path: Path) -> None:
    """With its parents; the file that was written as a trial is gone."""
    prepare_directory(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize("folder", ["file", "file/below", "/proc/certimeans", "nul\0"])
def test_a_folder_that_cannot_be_written_is_refused_before_any_work(
    points: Path, folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file in the way, a file system without room for it, an impossible name: exit code 2 and one line."""
    monkeypatch.setattr("certimeans.solver.solve_instance", None)  # it would fail if it were called
    points.with_name("file").touch()
    assert solve_to(points, points.parent / folder) == 2
    message = capsys.readouterr().err
    assert "results cannot be written there" in message
    assert message.count("\n") == 1


def test_a_full_disk_is_noticed_before_the_solve(
    points: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The trial needs room for a few kilobytes; nothing is left behind."""

    def full(path: Path, _: bytes) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("certimeans.solver.solve_instance", None)
    monkeypatch.setattr(Path, "write_bytes", full)
    out = points.with_name("out")
    assert solve_to(points, out) == 2
    assert f"{out}: results cannot be written there (No space left on device)" in capsys.readouterr().err
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("name", ["result.json", "certificate.json", "certificate.npz", "labels.csv"])
def test_another_result_is_not_overwritten_unasked(
    points: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command line before the solve, and by save; other files in the folder do not matter."""
    out = points.with_name("out")
    out.mkdir()
    (out / name).write_text("mine", encoding="utf-8")
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("certimeans.solver.solve_instance", None)
        assert solve_to(points, out) == 2
    assert f"there is another result ({name})" in capsys.readouterr().err
    with pytest.raises(InputError, match="there is another result"):
        RESULT.save(out, report=False)
    assert (out / name).read_text(encoding="utf-8") == "mine"
    assert solve_to(points, out, "--overwrite") == 0
    RESULT.save(out, overwrite=True, report=False)
    assert json.loads((out / "result.json").read_text(encoding="utf-8"))["n"] == 9
    assert not (out / "report.html").exists()  # the earlier result's, and this one has none
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make the disk full for certificates below the folders in this list."""
    folders: list[str] = []
    write = atomic._replace

    def fail(target: Path, data: bytes) -> None:
        if target.name == "certificate.npz" and any(part in str(target) for part in folders):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(target, data)

    monkeypatch.setattr(atomic, "_replace", fail)
    return folders


def test_what_cannot_be_written_at_the_end_is_rescued(
    points: Path, full_disk: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The summary is printed, everything goes to a temporary folder, and the exit code says that --out is not there."""
    monkeypatch.setattr("tempfile.tempdir", str(points.parent))
    full_disk.append("wanted")
    assert solve_to(points, points.with_name("wanted")) == 5
    captured = capsys.readouterr()
    assert "status       optimal" in captured.out
    assert "No space left on device" in captured.err
    found = re.search(r"are in (\S+) instead", captured.err)
    assert found is not None
    rescued = Path(found[1])
    assert (rescued / "labels.csv").read_text(encoding="utf-8") == "name,cluster\na,0\nb,0\nc,1\nd,1\n"
    assert main(["verify", str(rescued)]) == 0


def test_each_result_of_a_range_is_rescued(
    points: Path, full_disk: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hours of several solves are not lost either: each k has a temporary folder, which is named."""
    monkeypatch.setattr("tempfile.tempdir", str(points.parent))
    full_disk.append("wanted")
    assert solve_to(points, points.with_name("wanted"), "-k", "2-3") == 5
    said = r"k = (\d):\ncertimeans: labels, result and certificate are in (\S+) instead"
    found = re.findall(said, capsys.readouterr().err)
    assert [k for k, _ in found] == ["2", "3"]
    for _, folder in found:
        assert main(["verify", folder]) == 0


def test_without_any_room_the_labels_are_printed(
    points: Path, full_disk: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """After the summary; with --json they are in the object already, which stays alone."""
    full_disk.append("")
    assert solve_to(points, points.with_name("wanted")) == 5
    captured = capsys.readouterr()
    assert captured.out.endswith("\nname,cluster\na,0\nb,0\nc,1\nd,1\n")
    assert "no other folder can be written either" in captured.err
    assert solve_to(points, points.with_name("other"), "--json") == 5
    assert json.loads(capsys.readouterr().out)["labels"] == [0, 0, 1, 1]


def test_save_says_what_failed(tmp_path: Path, full_disk: list[str]) -> None:
    """An InputError with the file; the result is still in the caller's hands."""
    full_disk.append(str(tmp_path))
    with pytest.raises(InputError, match=r"certificate.npz: the file cannot be written \(No space left on device\)"):
        RESULT.save(tmp_path / "out", report=False)


@pytest.mark.parametrize("when", ["result.json", "labels.csv", "certificate.npz", "certificate.json", "report.html"])
def test_ctrl_c_while_results_are_written_costs_only_the_report(
    points: Path, when: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files are written once more, in a moment; a second Ctrl-C leaves no half-written file."""
    write, presses = atomic._replace, [1]

    def interrupted(target: Path, data: bytes) -> None:
        if target.name == when and presses[0] > 0:
            presses[0] -= 1
            raise KeyboardInterrupt
        write(target, data)

    monkeypatch.setattr(atomic, "_replace", interrupted)
    out = points.with_name("out")
    assert solve_to(points, out) == 130
    assert f"all but the report is in {out}" in capsys.readouterr().err
    assert main(["verify", str(out)]) == 0
    presses[0] = 2
    assert solve_to(points, out, "--overwrite") == 130
    assert not list(out.glob("*.tmp")) + list(out.glob(".*"))
    assert main(["verify", str(out)]) == (0 if when == "report.html" else 2)
    presses[0] = 0
    assert solve_to(points, out, "--overwrite") == 0
    assert main(["verify", str(out)]) == 0

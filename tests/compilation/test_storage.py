"""Where machine code is kept."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from numba.core import config

from certimeans.compilation import compiled, storage
from certimeans.compilation.folders import choose_folder, user_folder
from certimeans.compilation.sources import digest, top_package
from tests.compilation.processes import SOURCES, run_python, tiny_package


def _never(_: Path) -> bool:
    return False


def test_named_folders_come_first(tmp_path: Path) -> None:
    """CERTIMEANS_CACHE_DIR, NUMBA_CACHE_DIR, then the user's cache folder; none of them is worth a remark."""
    environment = {"XDG_CACHE_HOME": str(tmp_path / "x"), "HOME": str(tmp_path)}
    assert user_folder({"HOME": str(tmp_path)}) == tmp_path / ".cache/certimeans"
    for more, expected in (
        ({}, tmp_path / "x/certimeans"),
        ({"NUMBA_CACHE_DIR": str(tmp_path / "n")}, tmp_path / "n/certimeans"),
        ({"CERTIMEANS_CACHE_DIR": str(tmp_path / "c")}, tmp_path / "c"),
    ):
        environment.update(more)
        folder = choose_folder(environment, _never)
        assert (folder.path, folder.is_writable, folder.remark) == (expected, True, "")


def test_an_unusable_named_folder_is_named(tmp_path: Path) -> None:
    """Whoever sets the variable learns why it has no effect."""
    (tmp_path / "file").touch()
    environment = {"CERTIMEANS_CACHE_DIR": str(tmp_path / "file"), "XDG_CACHE_HOME": str(tmp_path)}
    folder = choose_folder(environment, _never)
    assert folder.path == tmp_path / "certimeans"
    assert f"CERTIMEANS_CACHE_DIR {tmp_path / 'file'} cannot be written" in folder.remark


def test_the_temporary_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded from a folder that others could have written to, nor through a link."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environment = {"HOME": "/nonexistent"}
    folder = choose_folder(environment, _never)
    assert folder.path == tmp_path / f"certimeans-{os.geteuid()}"
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert str(folder.path) in folder.remark
    folder.path.chmod(0o777)
    assert choose_folder(environment, _never).path is None
    folder.path.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o700)
    folder.path.symlink_to(tmp_path / "elsewhere")
    nowhere = choose_folder(environment, _never)
    assert nowhere.path is None
    assert "every process compiles anew" in nowhere.remark


def test_our_state_depends_on_sources_with_compiled_functions_and_what_they_import(tmp_path: Path) -> None:
    """A change of what is compiled, or of a constant that is compiled in, counts; a change elsewhere does not."""
    package = tiny_package(tmp_path)
    assert top_package(package / "caller.py") == package

    def after(name: str, text: str) -> str:
        (package / name).write_text(text)
        digest.cache_clear()
        return digest(package)

    states = [digest(package), after("constants.py", "FACTOR = 3\n")]
    assert states[0] != states[1]
    assert after("constants.py", "FACTOR = 2\n") == states[0]
    assert after("other.py", "# not compiled\n") == states[0]
    relative = (package / "callee.py").read_text().replace("from tiny.constants", "from .constants")
    states.append(after("callee.py", relative))
    assert after("constants.py", "FACTOR = 3\n") != states[-1]


def test_an_edited_function_in_another_file_is_compiled_again(tmp_path: Path) -> None:
    """Its caller's own file did not change, and numba would go on with the old machine code."""
    package = tiny_package(tmp_path)
    code = "from tiny.caller import call, stats; print(call(3), *stats())"

    def run() -> list[str]:
        return run_python(
            code, PYTHONPATH=f"{SOURCES}:{tmp_path}", CERTIMEANS_CACHE_DIR=str(tmp_path / "c")
        ).stdout.split()

    assert run() == ["6", "0", "1"]  # the answer, hits, misses
    assert run() == ["6", "1", "0"]
    (package / "constants.py").write_text("FACTOR = 5\n")
    assert run() == ["15", "0", "1"]


def test_damaged_machine_code_is_compiled_again(tmp_path: Path) -> None:
    """As after a power cut."""
    tiny_package(tmp_path)
    code = "from tiny.caller import call, stats; print(call(3), *stats())"
    environment = {"PYTHONPATH": f"{SOURCES}:{tmp_path}", "CERTIMEANS_CACHE_DIR": str(tmp_path / "c")}
    run_python(code, **environment)
    for suffix in ("nbi", "nbc"):
        for path in (tmp_path / "c").rglob(f"*.{suffix}"):
            path.write_bytes(b"")
        assert run_python(code, **environment).stdout.split() == ["6", "0", "1"]
        assert run_python(code, **environment).stdout.split() == ["6", "1", "0"]


def test_machine_code_that_cannot_be_written_is_lost_with_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A full disk does not end a computation."""

    class Full:
        cache_path = "somewhere"

        def load_overload(self, *_: Any) -> None:
            return None

        def save_overload(self, *_: Any) -> None:
            raise OSError(28, "No space left on device", f"file {len(storage._LOST)}")

    monkeypatch.setattr(storage, "numba_cache", lambda *_, **__: Full())
    monkeypatch.setattr(storage, "_LOST", [])

    def triple(x: int) -> int:
        return 3 * x

    functions = [compiled(triple), compiled(triple)]
    assert [function(2) for function in functions] == [6, 6]
    assert not storage.is_everything_kept()
    assert [record.getMessage().count("No space left") for record in caplog.records] == [1]


def test_only_a_new_state_removes_old_ones(tmp_path: Path) -> None:
    """The five used last stay, and so does what was used within a day; an import removes nothing."""
    base = tmp_path / "c"
    for age in range(9):
        (base / f"certimeans-{age}").mkdir(parents=True)
        moment = time.time() - 86_400 * age - 60
        os.utime(base / f"certimeans-{age}", (moment, moment))
    code = "from certimeans.compilation.storage import state_folder; import certimeans.solver; {}"
    run_python(code.format("pass"), CERTIMEANS_CACHE_DIR=str(base))
    assert len(list(base.iterdir())) == 9
    for _ in range(2):
        run_python(code.format("state_folder()"), CERTIMEANS_CACHE_DIR=str(base))
        assert sorted(path.name for path in base.iterdir() if len(path.name) == 12) == [
            f"certimeans-{age}" for age in range(5)
        ]


def test_other_packages_caches_do_not_move() -> None:
    """What numba was told about its own cache is as it was."""
    assert os.environ.get("NUMBA_CACHE_DIR", "") == config.CACHE_DIR

"""Installed read-only, run by another user, no home or an unwritable one: it runs, and says where it keeps code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import certimeans

if sys.platform == "win32":
    pytest.skip("Windows has neither these users nor these permissions", allow_module_level=True)

NOBODY = 65534
_TINY = """
from certimeans.compilation import compiled
from certimeans.compilation.preparation import Preparation
@compiled
def double(x):
    return 2 * x
Preparation().run({"tiny": lambda: double(1)})
print(double(21), sum(double.stats.cache_hits.values()))
"""


@dataclass(frozen=True)
class Installation:
    """A read-only copy of the package, and how to run it as a user who owns nothing.

    Attributes
    ----------
    folder
        A folder that everyone can read.
    prefix
        The command that changes the user.
    """

    folder: Path
    prefix: list[str] = field(default_factory=list)

    @property
    def temporary(self) -> Path:
        """A folder for temporary files that everyone can write to."""
        return self.folder / "tmp"

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run Python with nothing of our environment but the path of commands."""
        settings = {"TMPDIR": str(self.temporary), "PATH": os.environ["PATH"], "PYTHONPATH": str(self.folder / "site")}
        return subprocess.run(
            [*self.prefix, sys.executable, *arguments],
            env={**settings, **environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    """Copy the package; needs the administrator, who alone can run things as somebody else."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can run a process as another user, by setpriv")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        source = Path(certimeans.__file__).parent
        shutil.copytree(source, folder / "site/certimeans", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "site/tiny.py").write_text(_TINY)
        _make_read_only(folder / "site")
        yield Installation(folder, _foreign_user())


def _make_read_only(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)


def _foreign_user() -> list[str]:
    """Return how to run our Python as nobody; where its folder is closed to others, with the right to read it."""
    plain = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    for prefix in (plain, [*plain, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]):
        done = subprocess.run(
            [*prefix, sys.executable, "-c", "import os; print(os.geteuid())"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.stdout.strip() == str(NOBODY):
            return prefix
    pytest.skip("another user cannot run this Python")


@pytest.fixture(autouse=True)
def _empty_temporary_folder(installation: Installation) -> Iterator[None]:
    installation.temporary.mkdir(mode=0o777)
    installation.temporary.chmod(0o1777)
    yield
    shutil.rmtree(installation.temporary)


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({}, id="no home"),
        pytest.param({"HOME": "/"}, id="the root as home"),
        pytest.param({"HOME": "{folder}/site"}, id="an unwritable home"),
        pytest.param({"HOME": "/nonexistent"}, id="a home that does not exist"),
        pytest.param({"XDG_CACHE_HOME": "{folder}/site"}, id="an unwritable cache"),
        pytest.param({"CERTIMEANS_CACHE_DIR": "{folder}/site/x"}, id="an unwritable folder named by the user"),
        pytest.param({"NUMBA_CACHE_DIR": "{folder}/site/x"}, id="an unwritable folder named for numba"),
    ],
)
def test_machine_code_is_kept_in_a_temporary_folder(installation: Installation, environment: dict[str, str]) -> None:
    """One line says so; the next process loads it and does not compile."""
    environment = {name: value.format(folder=installation.folder) for name, value in environment.items()}
    first, second = (installation.run("-m", "tiny", **environment) for _ in range(2))
    folder = installation.temporary / f"certimeans-{NOBODY}"
    assert (first.returncode, first.stdout) == (0, "42 0\n"), first.stderr
    where, compiling = first.stderr.splitlines()
    assert where.startswith(f"machine code is kept in {folder}: ")
    assert compiling.startswith("compiling for this machine")
    assert (second.stdout, second.stderr.splitlines()) == ("42 1\n", [where])


def test_with_no_folder_at_all_every_process_compiles(installation: Installation) -> None:
    """One line says so."""
    code = "import tempfile; tempfile.tempdir = '/nonexistent/tmp'; import tiny"
    for _ in range(2):
        done = installation.run("-c", code)
        assert (done.returncode, done.stdout) == (0, "42 0\n"), done.stderr
        where, _ = done.stderr.splitlines()
        assert where.startswith("machine code cannot be kept, and every process compiles anew: ")


def test_an_unwritable_temporary_folder_is_passed_over(installation: Installation) -> None:
    """Python then finds the system's own, or none; either way it runs."""
    left_behind = Path("/tmp", f"certimeans-{NOBODY}")  # noqa: S108  # where Python looks next
    was_there = left_behind.exists()
    done = installation.run("-m", "tiny", TMPDIR=str(installation.folder / "site"), CERTIMEANS_CACHE_DIR="/proc/none")
    if not was_there:
        shutil.rmtree(left_behind, ignore_errors=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, "42"), done.stderr


def test_a_temporary_folder_of_somebody_else_is_refused(installation: Installation) -> None:
    """Loading machine code runs it: whoever made the folder first could have put anything there."""
    trap = installation.temporary / f"certimeans-{NOBODY}"
    trap.mkdir(mode=0o777)
    trap.chmod(0o777)
    done = installation.run("-m", "tiny")
    assert (done.returncode, done.stdout) == (0, "42 0\n"), done.stderr
    assert f"{trap} belongs to somebody else" in done.stderr
    assert list(trap.iterdir()) == []


def test_another_users_home_is_left_alone(installation: Installation) -> None:
    """With sudo, HOME may still be that of the user: neither load code from there nor leave files there."""
    home = installation.temporary / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    done = Installation(installation.folder).run("-m", "tiny", HOME=str(home))
    assert (done.returncode, done.stdout) == (0, "42 0\n"), done.stderr
    assert "belongs to somebody else" in done.stderr
    assert list(home.iterdir()) == []


def test_machine_code_of_an_image_is_read_and_not_written(installation: Installation) -> None:
    """As the administrator warms up and another user runs: no word, and nothing compiles."""
    baked = installation.temporary / "baked"
    administrator = Installation(installation.folder)
    administrator.run("-m", "tiny", CERTIMEANS_CACHE_DIR=str(baked))
    _make_read_only(baked)
    done = installation.run("-m", "tiny", CERTIMEANS_CACHE_DIR=str(baked))
    assert (done.stdout, done.stderr) == ("42 1\n", "")


def test_a_first_solve_keeps_its_time_limit(installation: Installation) -> None:
    """Compilation takes longer than the limit, and the clock starts after it; the second run compiles nothing."""
    code = (
        "import time; began = time.perf_counter()\n"
        "import certimeans\n"
        "result = certimeans.solve([[0.0], [1.0], [5.0], [6.0]], 2, time_limit=5, cannot_link=[(0, 1)])\n"
        "print(result.status, *result.labels, result.seconds < 5, time.perf_counter() - began)\n"
    )
    first, second = (installation.run("-c", code) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout.split()[:-1] == ["optimal", "0", "1", "1", "1", "True"]
    assert [line.partition(":")[0] for line in first.stderr.splitlines()] == [
        f"machine code is kept in {installation.temporary / f'certimeans-{NOBODY}'}",
        "compiling for this machine what was not needed before",
    ]
    assert second.stdout.split()[:-1] == first.stdout.split()[:-1]
    assert float(second.stdout.split()[-1]) < 10
    assert len(second.stderr.splitlines()) == 1

import shutil
import subprocess
from pathlib import Path

import pytest

from certimeans.report import environment


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_is_that_of_the_program_whatever_tables_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A benchmark that writes its table does not make the next one's commit dirty, or another one once committed."""
    module = tmp_path / "src" / "certimeans" / "report" / "environment.py"
    table = tmp_path / "benchmarks" / "results" / "table.md"
    for path in (module, table):
        path.parent.mkdir(parents=True)
        path.touch()
    monkeypatch.setattr(environment, "__file__", str(module))
    assert environment.commit() is None  # no repository
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    commit_all = ("add", "."), (*identity, "commit", "-q", "-m", "all")
    for command in (("init", "-q"), *commit_all):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)  # noqa: S607
    clean = environment.commit()
    assert clean is not None
    table.write_text("rows", encoding="utf-8")
    assert environment.commit() == clean
    for command in commit_all:
        subprocess.run(["git", *command], cwd=tmp_path, check=True)  # noqa: S607
    assert environment.commit() == clean
    module.write_text("edited", encoding="utf-8")
    assert environment.commit() == f"{clean}-dirty"

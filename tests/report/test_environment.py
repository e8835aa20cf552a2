import shutil
import subprocess
from pathlib import Path

import pytest

from certimeans.report import environment


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_is_dirty_only_if_something_but_tables_was_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A benchmark that writes its table does not make the next one's commit dirty."""
    module = tmp_path / "src" / "certimeans" / "report" / "environment.py"
    table = tmp_path / "benchmarks" / "results" / "table.md"
    for path in (module, table):
        path.parent.mkdir(parents=True)
        path.touch()
    monkeypatch.setattr(environment, "__file__", str(module))
    assert environment.commit() is None  # no repository
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "all")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)  # noqa: S607
    clean = environment.commit()
    assert clean is not None
    table.write_text("rows", encoding="utf-8")
    assert environment.commit() == clean
    module.write_text("edited", encoding="utf-8")
    assert environment.commit() == f"{clean}-dirty"

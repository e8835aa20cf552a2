"""The walk from a table to a decision, and the README, say what the commands say."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from certimeans.cli import main

ROOT = Path(__file__).parents[1]
FENCED = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[tuple[str, str]]:
    """Return each command of a page with what it shows."""
    blocks = FENCED.findall((ROOT / page).read_text(encoding="utf-8"))
    return [
        (command, said)
        for block in blocks
        for command, said in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]


def pattern(said: str) -> str:
    """Return a pattern in which numbers may differ, ... stands for anything, and white space does not matter."""
    return re.escape(plain(said)).replace(re.escape("..."), ".*")


def plain(text: str) -> str:
    return " ".join(re.sub(r"[-+]?\d+(?:[.,]\d+)*(?:e-?\d+)?", "0", text).split())


def test_the_page_shows_what_the_commands_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command is run, in order, on the files of the example."""
    for path in (ROOT / "examples" / "customers").iterdir():
        shutil.copy(path, tmp_path)
    pairs = (tmp_path / "pairs.csv").read_text(encoding="utf-8")
    (tmp_path / "typo.csv").write_text(pairs.replace("Lena Neumann", "Lena Neuman"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shown = commands("docs/walk.md")
    assert len(shown) >= 10
    for command, said in shown:
        program, *arguments = shlex.split(command)
        if program == "cat":
            text = (tmp_path / arguments[0]).read_text(encoding="utf-8-sig")
        else:
            assert program == "certimeans"
            main(arguments)
            captured = capsys.readouterr()
            text = captured.err + captured.out
        assert re.search(pattern(said), plain(text), re.DOTALL), f"$ {command}\n{text}"
    assert (tmp_path / "range" / "index.html").exists()
    assert "What the constraints cost" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_the_readme_shows_what_the_commands_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seconds differ from run to run, and bounds from machine to machine; the objective is that of the one optimum."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    shown = commands("README.md")
    assert [shlex.split(command)[1] for command, _ in shown] == ["solve", "verify"]
    texts = []
    for command, said in shown:
        assert main(shlex.split(command)[1:]) == 0
        texts.append(capsys.readouterr().out)
        assert plain(texts[-1]) == plain(said)
    assert next(line for line in texts[0].splitlines() if line.startswith("objective")) in shown[0][1]
    gaps = [float(re.findall(r"^gap +(.*) %$", text, re.MULTILINE)[0]) for text in (texts[0], shown[0][1])]
    assert max(gaps) <= 0.01

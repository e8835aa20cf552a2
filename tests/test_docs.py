import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE = re.compile(r"`([\w/]+\.py)`")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def prose(page: Path) -> str:
    """Return a page without its fenced code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MkDocs both make them."""
    headings = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in HEADING.findall(prose(page)))
    return {re.sub(r"\s+", "-", heading) for heading in headings}


def script(page: Path) -> str:
    """Return the page's Python and shell blocks as one script."""
    parts = []
    for language, code in FENCED.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            parts.append(code)
        elif language == "shell":
            parts.append(f"__import__('subprocess').run(['bash', '-euc', {code!r}], check=True)\n")
    return "\n".join(parts)


def broken_links(page: Path) -> list[str]:
    """Return links to files or headings that are not there, and links from docs/ to files outside it."""
    broken = []
    for link in LINK.findall(prose(page)):
        if link.startswith(("https://", "http://")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        leaves_docs = page.parent == DOCS and DOCS not in target.parents
        if leaves_docs or not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link has a target, with its heading; MkDocs publishes nothing from outside docs/."""
    assert broken_links(page) == []


def missing_sources(page: Path) -> list[str]:
    """Return Python files that a page names in its text, as `a/b.py`, and that are nowhere in the repository."""
    folders = (ROOT / name for name in ("src", "tests", "docs", "examples", "tools", "benchmarks"))
    known = [path.as_posix() for folder in folders for path in folder.rglob("*.py")]
    return [name for name in SOURCE.findall(prose(page)) if not any(path.endswith(f"/{name}") for path in known)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_source_files_that_a_page_names_exist(page: Path) -> None:
    """A file that was moved or split is named as it is now."""
    assert missing_sources(page) == []


def test_missing_sources_are_noticed(tmp_path: Path) -> None:
    """A file that is there, by the end of its path, and two that are not."""
    page = tmp_path / "page.md"
    page.write_text("`solver.py`, `search/tree.py`, `search/trees.py` and `olver.py`\n", encoding="utf-8")
    assert missing_sources(page) == ["search/trees.py", "olver.py"]


def test_broken_links_are_noticed(tmp_path: Path) -> None:
    """A missing file and a missing heading are found; code and web addresses are no relative links."""
    page = tmp_path / "page.md"
    page.write_text(
        "# A b\n[1](#a-b) [2](#c) [3](no.md) [4](https://example.org)\n```\n[5](no.md)\n```\n", encoding="utf-8"
    )
    assert broken_links(page) == ["#c", "no.md"]


@pytest.mark.parametrize("page", [page for page in PAGES if script(page)], ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    """The Python and shell blocks of a page, one after the other, are a script that runs."""
    path = tmp_path / "page.py"
    path.write_text(script(page), encoding="utf-8")
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # certimeans, as installed
    environment = {**os.environ, "PATH": search}
    run = subprocess.run(
        [sys.executable, path], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("script", ["commands.py", "settings.py", "imports.py"])
def test_what_is_made_from_code_is_up_to_date(script: str) -> None:
    """docs/commands.md says what the parsers say, docs/settings.md what the dataclasses say; so does the picture."""
    run = subprocess.run([sys.executable, DOCS / script, "--check"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_every_page_is_in_the_navigation() -> None:
    """A page that mkdocs.yml does not mention would be found by nobody."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in DOCS.glob("*.md") if f": {page.name}\n" not in navigation] == []

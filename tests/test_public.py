import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import certimeans

ROOT = Path(__file__).parents[1]
DEEPER = re.compile(r"certimeans\.[a-z_.]+")
FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def scripts() -> list[tuple[str, str]]:
    """Return the examples and the Python of README and pages; the page for developers of the package may go deeper."""
    pages = [ROOT / "README.md", *(page for page in (ROOT / "docs").glob("*.md") if page.name != "extending.md")]
    code = [(page.name, "\n".join(FENCED.findall(page.read_text(encoding="utf-8")))) for page in pages]
    examples = sorted((ROOT / "examples").glob("*.py"))
    return [*code, *((path.name, path.read_text(encoding="utf-8")) for path in examples)]


@pytest.mark.parametrize("name", certimeans.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """Also those that are imported when they are first used; ``dir`` knows them all."""
    assert getattr(certimeans, name) is not None
    assert name in dir(certimeans)


def test_other_names_are_refused_as_usual() -> None:
    """By an AttributeError."""
    with pytest.raises(AttributeError, match="module 'certimeans' has no attribute 'nothing'"):
        certimeans.nothing  # noqa: B018


def test_the_baselines_are_there_without_an_import_of_their_own() -> None:
    """As a module, which is imported when it is first used."""
    code = "import certimeans; print(certimeans.baselines.cop_kmeans.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "cop_kmeans\n", done.stderr


def test_a_result_has_two_names() -> None:
    """The short one is the same class."""
    assert certimeans.Result is certimeans.SolveResult


@pytest.mark.parametrize("code", [code for _, code in scripts()], ids=[name for name, _ in scripts()])
def test_pages_and_examples_need_the_public_names_only(code: str) -> None:
    """What they import from certimeans is public, and from no deeper module."""
    imported = {
        alias.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import) for alias in node.names
    }
    assert [module for module in imported if DEEPER.match(module)] == []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("certimeans"):
            assert node.module == "certimeans"
            assert {alias.name for alias in node.names} <= {*certimeans.__all__, "baselines"}


def test_the_package_is_imported_in_a_moment() -> None:
    """Nothing heavy comes along until it is used."""
    code = (
        "import sys, time; began = time.perf_counter(); import certimeans; print(time.perf_counter() - began); "
        "print(sorted({'numpy', 'scipy', 'numba', 'sklearn', 'joblib', 'matplotlib', 'rich'} & set(sys.modules)))"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    seconds, heavy = zip(*(run.stdout.splitlines() for run in runs), strict=True)
    assert min(map(float, seconds)) < 0.1  # the machine may be busy
    assert set(heavy) == {"[]"}


def test_a_solve_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    """Each of these takes a tenth of a second or so, on every call of the command line."""
    (tmp_path / "points.csv").write_text("0\n1\n5\n6\n")
    code = (
        "import sys; from certimeans.cli import main; "
        f"main(['solve', {str(tmp_path / 'points.csv')!r}, '-k', '2', '--json', '--quiet']); "
        "heavy = {'scipy.optimize', 'scipy.spatial', 'scipy.linalg', 'sklearn', 'joblib', 'matplotlib', 'rich'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"

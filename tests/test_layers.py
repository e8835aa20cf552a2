"""Folders import only from those before them: the order in which data flow through the package."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import certimeans

PACKAGE = Path(certimeans.__file__).parent
LAYERS = (
    "problem", "presolve", "heuristics", "proof", "bounds", "search", "analysis", "report", "bench", "commands",
)  # fmt: skip
SHARED = {
    "_typing", "_version", "errors", "status", "deadline", "randomness", "compilation", "warmup", "printing", "orphans",
    "blas", "plugins", "scipy_lapack", "setting_checks",
}  # fmt: skip
"""Modules that every folder may use; ``warmup`` imports what it compiles when it is called."""
INDEPENDENT = {"certificate": {"_typing", "errors", "orphans"}}
"""The checker uses nothing of the solver."""
ON_TOP = {"baselines"}
"""May use every folder up to search; nothing but bench may use it."""


def imports(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, anywhere in it, as paths below the package."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("certimeans.") for name in found if name.startswith("certimeans.")}


def is_for_types_only(path: Path, name: str) -> bool:
    """Whether an import stands below ``if TYPE_CHECKING``."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for inner in ast.walk(node):
                if (
                    isinstance(inner, ast.ImportFrom)
                    and inner.module
                    and name.startswith(inner.module.removeprefix("certimeans."))
                ):
                    return True
    return False


@pytest.mark.parametrize("folder", [*LAYERS, *INDEPENDENT, *ON_TOP])
def test_a_folder_imports_only_from_those_before_it(folder: str) -> None:
    """Lazily or not; imports for type checkers alone do not count."""
    if folder in INDEPENDENT:
        allowed = INDEPENDENT[folder] | {folder}
    elif folder in ON_TOP:
        allowed = {*LAYERS[: LAYERS.index("search") + 1], *SHARED, folder, "solver", "result"}
    else:
        allowed = {*LAYERS[: LAYERS.index(folder) + 1], *SHARED}
        if LAYERS.index(folder) > LAYERS.index("search"):
            allowed |= {
                "solver",
                "result",
                "ranges",
                "prices",
                "ambiguity",
                "settings",
                "estimator",
                "certificate",
                "arguments",
                "demo",
            }
        if folder == "bench":
            allowed |= ON_TOP
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for name in sorted(imports(path))
        if name.split(".")[0] not in allowed and not is_for_types_only(path, name)
    ]
    assert wrong == []


def test_contributing_shows_the_order() -> None:
    """The list that newcomers read is the one that is tested."""
    text = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text()
    positions = [text.find(f"`{folder}/`") for folder in LAYERS]
    assert all(position >= 0 for position in positions)
    assert positions == sorted(positions)

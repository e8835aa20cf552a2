"""Print the lowest version of every declared dependency, as pip's constraints: ``make test-lowest`` installs them."""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)(?:,<[\w.]+)?")
_TOOLS = {"ruff", "mypy", "scipy-stubs", "build", "twine"}  # not imported by any test; any version will do


def lowest_versions(project: str) -> dict[str, str]:
    """Return the lowest version of each dependency that a pyproject.toml declares, extras included."""
    table = tomllib.loads(project)["project"]
    groups = [table["dependencies"], *table["optional-dependencies"].values()]
    found = {}
    for requirement in (requirement for group in groups for requirement in group):
        match = _REQUIREMENT.fullmatch(requirement)
        if match is None:
            raise ValueError(f"pyproject.toml: {requirement!r} states no lowest version")
        found[match[1]] = match[2]
    return {name: version for name, version in found.items() if name not in _TOOLS}


if __name__ == "__main__":
    for name, version in lowest_versions(PROJECT.read_text(encoding="utf-8")).items():
        print(f"{name}=={version}")

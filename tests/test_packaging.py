"""What is released: one version everywhere, files that forges and tools can read."""

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import certimeans

ROOT = Path(__file__).parents[1]
YAML = [ROOT / "CITATION.cff", ROOT / ".pre-commit-config.yaml", *sorted((ROOT / ".github").rglob("*.yml"))]


def project() -> dict[str, Any]:
    """Return the table ``project`` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_configuration_files_are_well_formed(path: Path) -> None:
    """Forges ignore a file that they cannot read, without a word."""
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_one_version_and_date_everywhere() -> None:
    """The package, the citation and the newest entry of the changelog agree."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest.groups() == (citation["version"], citation["date-released"])
    assert certimeans.__version__ == citation["version"]


def test_the_lowest_versions_are_those_declared() -> None:
    """``make test-lowest`` installs exactly what pyproject.toml promises to work with."""
    lowest_versions = runpy.run_path(str(ROOT / "tools/lowest.py"))["lowest_versions"]
    lowest = lowest_versions((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {f"{name}>={version}" for name, version in lowest.items()} >= set(project()["dependencies"])
    with pytest.raises(ValueError, match="'numpy' states no lowest version"):
        lowest_versions('[project]\ndependencies = ["numpy"]\noptional-dependencies = {}\n')


def test_every_supported_python_is_tested() -> None:
    """The versions that pyproject.toml names are those of the workflow, and the lowest is the one required."""
    named = [name.rpartition(" ")[2] for name in project()["classifiers"] if re.search(r"Python :: 3\.\d+$", name)]
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["tests"]["strategy"]["matrix"]["python"] == named
    assert project()["requires-python"] == f">={named[0]}"

"""Which sources are measured: what was measured with others says nothing about these."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_SOURCES = (
    "src",
    "benchmarks",
    "pyproject.toml",
    "tests/oracles",
    # Tests from which benchmarks import.
    "tests/bounds/parts/test_enumeration.py",
    "tests/bounds/relaxation/test_safe_bound.py",
    "tests/problem/io/test_files_fuzz.py",
    "tests/search/test_faults.py",
    "tests/search/test_resume.py",
    "tests/search/test_solve.py",
    ":(exclude)benchmarks/results",
)


def sources_in_use(root: Path = ROOT) -> str:
    """Identify the sources: the last commit that changed them, and a digest of edits since.

    Texts and tables are no part of them.
    """

    def git(*arguments: str) -> str:
        command = ["git", *arguments, "--", *_SOURCES]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False, cwd=root).stdout.strip()
        except OSError:  # no git
            return ""

    commit = git("log", "-1", "--format=%h") or "unknown"
    edits = git("status", "--porcelain")
    return f"{commit}+{hashlib.sha256((edits + git('diff', 'HEAD')).encode()).hexdigest()[:8]}" if edits else commit

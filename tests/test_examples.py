import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SAYS = {
    "analyst_csv.py": ["status       optimal", "Proven: the clustering keeps all 3 must-links and 4 cannot-links"],
    "judge_heuristic.py": ["status       optimal", "COP-k-means", "BLPKM-CC"],
    "kernel_kmeans.py": ["kernel k-means: adjusted Rand index 1.00", "status       optimal", "Proven"],
    "dask_cluster.py": ["2 workers evaluated", "status       optimal"],
    "large_file_on_cluster.py": ["status       optimal", "the checker proves a gap of"],
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Run an example once, in a folder of its own, and return what it prints."""

    @cache
    def run(script: str) -> str:
        done = subprocess.run(
            [sys.executable, EXAMPLES / script],
            cwd=tmp_path_factory.mktemp("example"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_every_example_is_tested() -> None:
    """A new example needs an entry above."""
    assert {path.name for path in EXAMPLES.glob("*.py")} == SAYS.keys()


@pytest.mark.parametrize("script", SAYS)
def test_example_runs_and_says_what_it_should(script: str, printed: Callable[[str], str]) -> None:
    """Each example runs as it stands and ends with a proven optimum."""
    assert [text for text in SAYS[script] if text not in printed(script)] == []


def test_no_heuristic_is_below_the_optimum(printed: Callable[[str], str]) -> None:
    """The gaps that the researcher's example prints are facts: none is negative."""
    rows = [line.split() for line in printed("judge_heuristic.py").splitlines() if line.endswith("%")]
    gaps = [float(row[-2]) for row in rows if row[0] != "gap"]
    assert len(gaps) >= 2
    assert min(gaps) >= 0

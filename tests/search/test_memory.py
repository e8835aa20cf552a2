"""Memory is estimated before it is taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from certimeans import SolverSettings, SolveStatus, solve, verify
from certimeans.search.memory import free_memory, memory_limit


def test_a_relaxation_that_does_not_fit_is_not_begun(tmp_path: Path) -> None:
    """The clustering and the covariance bound remain, are proven, and the message says what happened."""
    points = np.random.default_rng(0).normal(size=(60, 4)) + 6 * (np.arange(60) % 3)[:, None]
    result = solve(points, 3, settings=SolverSettings(memory_limit=100_000.0))
    assert result.status is SolveStatus.INTERRUPTED
    assert "60 super-points would take" in result.message
    assert 0 < result.lower_bound < result.objective
    result.save(tmp_path / "out", report=False)
    assert verify(tmp_path / "out").lower_bound >= result.lower_bound


def test_the_limit_is_what_the_settings_say_or_half_of_what_is_free() -> None:
    """Some memory is free, and a stated limit is taken as it is."""
    assert memory_limit(12345.0) == 12345
    assert 0 < memory_limit(None) <= free_memory()

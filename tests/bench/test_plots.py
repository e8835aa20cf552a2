from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from certimeans.bench.plots import draw_plots, draw_profile
from certimeans.errors import InputError
from tests.bench.test_tables import PAPER, row


def test_all_plots_are_written_twice(tmp_path: Path) -> None:
    """PNG and SVG of times, profile and speed-up; without published results there is no speed-up."""
    pytest.importorskip("matplotlib")
    rows = [row(seed, ml=ml, cl=5 - ml, time=1.0 + seed, published=PAPER) for seed in range(3) for ml in (0, 2, 5)]
    names = {path.name for path in draw_plots(rows, tmp_path)}
    assert names == {f"{plot}.{kind}" for plot in ("times", "profile", "speed_up") for kind in ("png", "svg")}
    assert (tmp_path / "times.png").read_bytes()[:4] == b"\x89PNG"
    assert len(draw_plots([row()], tmp_path)) == 4
    assert draw_plots([], tmp_path) == []


def test_the_profile_ends_at_the_share_that_was_solved() -> None:
    """Of four instances, three were solved, after 1, 2 and 4 seconds."""
    figure = pytest.importorskip("matplotlib.figure").Figure()
    rows = [row(time=time) for time in (1.0, 4.0, 2.0)] + [row(status="time_limit", time=10.0)]
    line: Any = draw_profile(rows, figure).axes[0].lines[0]
    assert line.get_xdata()[:3].tolist() == [1.0, 2.0, 4.0]
    assert line.get_ydata().tolist() == [25.0, 50.0, 75.0, 75.0]


def test_without_matplotlib_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plots are an extra."""
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"certimeans\[plot\]"):
        draw_plots([row()], tmp_path)

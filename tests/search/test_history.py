"""What is kept of a search."""

import json
import math
from pathlib import Path

import numpy as np

from certimeans import solve
from certimeans.search.history import History


def test_before_the_search_nothing_is_proven() -> None:
    """No bound is told with the messages of presolve."""
    history = History(None)
    history.begin()
    history.say("presolve: 3 points", 1.0)
    assert [entry.lower_bound for entry in history.entries] == [-math.inf, -math.inf]


def test_bounds_of_gram_matrices_are_never_above_the_optimum(tmp_path: Path) -> None:
    """Which may be negative; the file says null where nothing is proven, and the page with its plots is written."""
    gram = np.diag([1.0, -1.0, -1.0, -1.0, -1.0])
    result = solve(None, 2, gram=gram)
    assert result.objective < 0
    assert all(entry.lower_bound <= result.objective for entry in result.history)
    result.save(tmp_path / "out")
    events = (tmp_path / "out" / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(events[0])["lower_bound"] is None

"""A tiny suite in the paper's layout."""

from __future__ import annotations

from pathlib import Path

LINE = "6 1 2\n0\n1\n2\n10\n11\n12\n"  # two triples: the optimum of k = 2 costs 2 + 2


def make_folder(folder: Path, *, published: str | None = None) -> Path:
    """Write two data sets of six points with two instances each."""
    for name in ("line", "shifted"):
        (folder / "datasets").mkdir(parents=True, exist_ok=True)
        (folder / "datasets" / f"{name}.txt").write_text(LINE, encoding="utf-8")
        constraints = folder / "constraints" / name
        constraints.mkdir(parents=True)
        # Point 2 moves to the right triple: {0, 1} costs 0.5, {2, 10, 11, 12} costs 62.75.
        (constraints / "ml_1_cl_0_0.txt").write_text("ML 2 3\n", encoding="utf-8")
        (constraints / "ml_0_cl_1_0.txt").write_text("CL 0 3\n", encoding="utf-8")
    if published is not None:
        (folder / "published.csv").write_text(published, encoding="utf-8")
    return folder

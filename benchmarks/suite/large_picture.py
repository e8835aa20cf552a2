"""Draw a large run: where the points are, and what was proven when."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from PIL import Image

from certimeans.printing import percent_up

_SHOWN = 20_000


def draw_run(points: Path, results: Path, target: Path) -> None:
    """Draw points by cluster on the left, and the proven gap over time on the right.

    Parameters
    ----------
    points
        What was solved, a ``.npy`` file.
    results
        The folder that ``certimeans solve --out`` wrote.
    target
        The picture.
    """
    result = json.loads((results / "result.json").read_text(encoding="utf-8"))
    mpl.use("agg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=(1, 1.15), layout="constrained")
    _draw_points(left, np.load(points, mmap_mode="r"), np.asarray(result["labels"]))
    _draw_gap(right, results / "events.jsonl", result)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110)
    plt.close(figure)
    Image.open(target).convert("RGB").quantize(128).save(target, optimize=True)


def _draw_points(ax: Axes, points: np.ndarray, labels: np.ndarray) -> None:
    """Draw a sample along the two directions that separate the clusters' centres most."""
    centres = np.array([points[labels == cluster].mean(axis=0) for cluster in np.unique(labels)])
    middle = centres.mean(axis=0)
    axes = np.linalg.svd(centres - middle)[2][:2].T
    chosen = np.random.default_rng(0).choice(len(points), min(_SHOWN, len(points)), replace=False)
    places, marks = (points[chosen] - middle) @ axes, (centres - middle) @ axes
    ax.scatter(places[:, 0], places[:, 1], c=labels[chosen], cmap="tab10", vmax=9, s=2, alpha=0.35, linewidths=0)
    ax.scatter(marks[:, 0], marks[:, 1], c="black", marker="x", s=45)
    ax.set_title(f"{len(points):,} points, {points.shape[1]} features, {len(centres)} clusters", fontsize=11)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel(f"{len(chosen):,} of them; centres are crosses", fontsize=9)


def _draw_gap(ax: Axes, events: Path, result: dict[str, float]) -> None:
    """Draw how much the clustering may be above the optimum, as far as was proven at each moment."""
    entries = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    known = [e for e in entries if e["incumbent_cost"] and e["lower_bound"] is not None]
    seconds = np.array([max(e["seconds"], 0.1) for e in known])
    gaps = np.array([100 * (e["incumbent_cost"] - e["lower_bound"]) / e["incumbent_cost"] for e in known])
    ax.step(seconds, np.minimum.accumulate(gaps), where="post", color="tab:blue")
    ax.axhline(100 * result["target_gap"], color="grey", linewidth=0.8, linestyle="--")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_xlim(left=0)
    ax.set_xlabel("seconds")
    ax.set_ylabel("proven gap, %")
    ax.set_title(f"proven: at most {percent_up(result['gap'])} above the optimum", fontsize=11)
    ax.grid(visible=True, which="major", linewidth=0.4)

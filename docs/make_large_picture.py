"""Make the README's picture of a large instance: ``python docs/make_large_picture.py POINTS.npy RESULTS``.

RESULTS is the folder of ``certimeans solve POINTS.npy --out RESULTS``, for example that of the million points of
``benchmarks.suite.large`` (``--out``). Left, where the points are, by cluster; right, the proven gap over time.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from PIL import Image

IMAGES = Path(__file__).parent / "images"
SHOWN = 20_000


def main() -> None:
    """Parse the command line and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", type=Path)
    parser.add_argument("results", type=Path)
    given = parser.parse_args()
    result = json.loads((given.results / "result.json").read_text(encoding="utf-8"))
    mpl.use("agg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=(1, 1.15), layout="constrained")
    draw_points(left, np.load(given.points, mmap_mode="r"), np.asarray(result["labels"]))
    draw_gap(right, given.results / "events.jsonl", result)
    target = IMAGES / "large.png"
    figure.savefig(target, dpi=110)
    Image.open(target).convert("RGB").quantize(128).save(target, optimize=True)


def draw_points(ax: Axes, points: np.ndarray, labels: np.ndarray) -> None:
    """Draw a sample along the two directions that separate the clusters' centres most."""
    centres = np.array([points[labels == cluster].mean(axis=0) for cluster in np.unique(labels)])
    middle = centres.mean(axis=0)
    axes = np.linalg.svd(centres - middle)[2][:2].T
    chosen = np.random.default_rng(0).choice(len(points), min(SHOWN, len(points)), replace=False)
    places, marks = (points[chosen] - middle) @ axes, (centres - middle) @ axes
    ax.scatter(places[:, 0], places[:, 1], c=labels[chosen], cmap="tab10", vmax=9, s=2, alpha=0.35, linewidths=0)
    ax.scatter(marks[:, 0], marks[:, 1], c="black", marker="x", s=45)
    ax.set_title(f"{len(points):,} points, {points.shape[1]} features, {len(centres)} clusters", fontsize=11)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel(f"{len(chosen):,} of them; centres are crosses", fontsize=9)


def draw_gap(ax: Axes, events: Path, result: dict[str, float]) -> None:
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
    ax.set_title(f"proven: at most {100 * result['gap']:.2g} % above the optimum", fontsize=11)
    ax.grid(visible=True, which="major", linewidth=0.4)


if __name__ == "__main__":
    main()

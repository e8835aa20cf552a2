"""Make the pictures of the README from Fisher's iris data, and those of the walk: ``python docs/make_pictures.py``.

The screenshot of the report needs a Chromium browser; without one only the plot is made.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_iris

from certimeans import (
    Instance,
    Limits,
    SolveResult,
    generate_constraints,
    read_constraints,
    read_points,
    solve,
    solve_instance,
    solve_range,
)
from certimeans.report.html import render_report

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1100, 1330


def main() -> None:
    """Solve, draw, take the screenshot."""
    IMAGES.mkdir(exist_ok=True)
    iris = load_iris()
    pairs = generate_constraints(iris.target, 25, 25, seed=0)
    result = solve_instance(Instance(iris.data, 3, pairs, feature_names=tuple(iris.feature_names)), Limits())
    figure = result.plot_clusters(compare=True).get_figure(root=True)
    if figure is not None:
        figure.savefig(IMAGES / "clusters.png", dpi=130)
        _shrink(IMAGES / "clusters.png")
    draw_customers()
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is not None:
        _take_screenshot(browser, result)


def draw_customers() -> None:
    """Draw the elbow and the prices of the walk from a table to a decision."""
    folder = Path(__file__).parents[1] / "examples" / "customers"
    table = read_points(folder / "customers.csv", columns="numeric", decimal=",", missing="mean")
    pairs = read_constraints(folder / "pairs.csv", names=table.row_names)
    elbow = solve_range(table, range(2, 6), standardize=True).plot()
    must_link, cannot_link = pairs.must_link, pairs.cannot_link
    result = solve(table, 3, standardize=True, must_link=must_link, cannot_link=cannot_link, link_by="position")
    prices = result.constraint_prices().plot()
    for name, ax in (("elbow", elbow), ("prices", prices)):
        figure = ax.get_figure(root=True)
        if figure is not None:
            figure.savefig(IMAGES / f"{name}.png", dpi=110)
            _shrink(IMAGES / f"{name}.png")


def _take_screenshot(browser: str, result: SolveResult) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(
            render_report(result, "certimeans solve iris.csv -k 3 --constraints pairs.txt"), encoding="utf-8"
        )
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"]
        target = IMAGES / "report.png"
        command = [browser, *options, f"--screenshot={target}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # the browser found above
        _shrink(target)


def _shrink(path: Path) -> None:
    """Keep 128 colours: a fraction of the size, and nobody sees it."""
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


if __name__ == "__main__":
    main()

"""Make the pictures of the README from Fisher's iris data: ``python docs/make_pictures.py``.

The screenshot of the report needs a Chromium browser; without one only the plot is made.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_iris

from certimeans import Instance, Limits, SolveResult, generate_constraints, solve_instance
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
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is not None:
        _take_screenshot(browser, result)


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

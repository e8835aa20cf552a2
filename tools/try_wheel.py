"""Install the wheel in dist/ into a fresh environment, away from the sources, and use it as a stranger would.

    python tools/try_wheel.py dist

Demo, verification, a solve of a file, and the same from Python; ``make wheel`` calls it.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

SMOKE = """
import itertools, json, sys
from importlib import metadata, resources
from pathlib import Path
import certimeans

assert "site-packages" in certimeans.__file__, certimeans.__file__
assert metadata.version("certimeans") == certimeans.__version__
for name in ("py.typed", "bench/suites/small.toml"):
    assert resources.files("certimeans").joinpath(name).is_file(), name

points = [[0, 0], [1, 0], [0, 1], [6, 5], [5, 6], [9, 0], [4, 2]]
must, cannot = [(0, 6)], [(1, 2), (3, 4)]

def cost(labels):
    total = 0.0
    for cluster in set(labels):
        rows = [point for point, label in zip(points, labels) if label == cluster]
        centre = [sum(column) / len(rows) for column in zip(*rows)]
        total += sum((x - c) ** 2 for row in rows for x, c in zip(row, centre))
    return total

best = min(
    cost(labels)
    for labels in itertools.product(range(3), repeat=len(points))
    if len(set(labels)) == 3
    and all(labels[i] == labels[j] for i, j in must)
    and all(labels[i] != labels[j] for i, j in cannot)
)
result = certimeans.solve(points, 3, must_link=must, cannot_link=cannot)
assert result.status == "optimal", result
assert abs(result.objective - best) <= 1e-4 * best, (result.objective, best)
result.save("smoke")
assert certimeans.verify("smoke", gap=1e-4)
try:
    certimeans.solve(points, 3, must_link=[(0, 1)], cannot_link=[(1, 0)])
except certimeans.InfeasibleError:
    pass
else:
    raise AssertionError("a contradiction was not noticed")
with open("points.csv", "w") as file:
    file.writelines(f"{x},{y}\\n" for x, y in points)
print("smoke test passed:", certimeans.__version__)
"""


def main(folder: Path) -> None:
    """Try the only wheel of a folder."""
    (wheel,) = folder.resolve().glob("certimeans-*.whl")
    with tempfile.TemporaryDirectory() as name:
        away = Path(name)
        environment = away / "environment"
        venv.create(environment, with_pip=False, symlinks=os.name != "nt")
        binaries = environment / ("Scripts" if os.name == "nt" else "bin")
        python, certimeans = binaries / "python", binaries / "certimeans"
        pip = [sys.executable, "-m", "pip", "--python", str(python), "-qq", "--disable-pip-version-check"]
        _run(away, *pip, "install", f"{wheel}[plot]")
        _run(away, python, "-I", "-c", SMOKE)
        _run(away, certimeans, "--version")
        _run(away, certimeans, "demo", "--out", "demo")
        _run(away, certimeans, "verify", "demo")
        _run(away, certimeans, "solve", "points.csv", "-k", "3", "--json", "--quiet")


def _run(folder: Path, *command: str | Path) -> None:
    print("+", *(str(part) if "\n" not in str(part) else "..." for part in command), flush=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment, check=False)  # noqa: S603
    if done.returncode != 0:
        sys.exit(f"failed with exit code {done.returncode}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""An analyst's run: a table with names, a file of pairs, a result that is saved and verified.

    python examples/analyst_csv.py [RESULTS_FOLDER]

On the command line the same is

    cd examples/data
    certimeans solve stores.csv -k 3 --standardize --constraints pairs.txt --out stores-result
    certimeans verify stores-result
"""

import sys
from pathlib import Path

import numpy as np

from certimeans import solve
from certimeans.certificate.check import verify
from certimeans.problem.io.files import PointsFile, read_constraints, read_points
from certimeans.problem.scaling import standardized

DATA = Path(__file__).parent / "data"


def main(folder: Path) -> None:
    """Solve, save, verify, and say which store is in which cluster."""
    table = read_points(DATA / "stores.csv")
    pairs = read_constraints(DATA / "pairs.txt", n_points=len(table.values))
    print(*table.notes, sep="\n")

    result = solve(
        standardized(table.values),  # square metres and euros cannot be added; standard deviations can
        n_clusters=3,
        must_link=pairs.must_link,
        cannot_link=pairs.cannot_link,
    )
    print(result.summary())
    result.save(folder)
    print(verify(folder, instance=result.instance).sentence())

    if result.labels is not None:  # a search that is stopped early may have none
        for cluster in range(3):
            describe(table, np.flatnonzero(result.labels == cluster).tolist())


def describe(table: PointsFile, members: list[int]) -> None:
    """Print the mean of each feature and the names of a cluster's members."""
    names, features = table.row_names or (), table.feature_names or ()
    means = zip(features, table.values[members].mean(axis=0), strict=True)
    print(f"\n{len(members)} stores, on average {', '.join(f'{name} {mean:.0f}' for name, mean in means)}:")
    print(f"  {', '.join(names[i] for i in members)}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "stores-result"))

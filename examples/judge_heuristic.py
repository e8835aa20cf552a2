"""A researcher's run: how far from the optimum the heuristics of the literature are.

    python examples/judge_heuristic.py [SEEDS]

The optimum is proven, so that a gap is a fact about the heuristic and not a comparison of two guesses.
"""

import sys

from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from certimeans import Clustering, Instance, Limits, baselines, generate_constraints, solve_instance


def main(n_seeds: int) -> None:
    """Run each heuristic with several seeds and print the gaps to the proven optimum."""
    iris = load_iris()
    instance = Instance(iris.data, 3, generate_constraints(iris.target, 50, 50, seed=1))
    result = solve_instance(instance, Limits(gap=1e-6))
    print(result)

    print(f"\nk-means without constraints, {n_seeds} seeds:")
    runs = [KMeans(3, n_init=1, random_state=seed).fit(iris.data).labels_ for seed in range(n_seeds)]
    broken = [len(Clustering.from_labels(instance, labels).violations(instance, limit=100)) for labels in runs]
    print(f"  breaks {min(broken)} to {max(broken)} of the 100 constraints")

    print(f"\n{'heuristic':<34}{'failed':>7}{'best gap':>11}{'mean gap':>11}")
    for name, heuristic in (
        ("COP-k-means", baselines.cop_kmeans),
        ("BLPKM-CC", baselines.blpkm),
        ("PP: k-means, repaired afterwards", baselines.post_processing),
    ):
        found = [clustering for seed in range(n_seeds) if (clustering := heuristic(instance, seed)) is not None]
        gaps = [100 * (clustering.cost / result.objective - 1) for clustering in found]
        numbers = f"{min(gaps):>9.3f} %{sum(gaps) / len(gaps):>9.3f} %" if gaps else f"{'-':>11}{'-':>11}"
        print(f"{name:<34}{n_seeds - len(found):>7}{numbers}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)

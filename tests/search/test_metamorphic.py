import numpy as np
import pytest

from certimeans import InfeasibleError
from certimeans.problem.clustering import Clustering
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance
from tests.oracles.instances import random_instance
from tests.oracles.metamorphic import variants


@pytest.mark.parametrize("block", range(4))
def test_changes_that_should_not_matter_do_not(block: int) -> None:
    """Translated, scaled, rotated, permuted, doubled and over-constrained instances: same partition, scaled cost."""
    for seed in range(10 * block, 10 * block + 10):
        instance = random_instance(seed, max_points=12, weighted=seed % 2 == 0).build()
        try:
            base = solve_instance(instance, Limits(gap=1e-6))
        except InfeasibleError:
            continue
        doubled: list[float] = []
        for variant in variants(instance, seed):
            result = solve_instance(variant.instance, Limits(gap=1e-6))
            assert result.status == "optimal", (seed, variant.name)
            assert result.labels is not None
            if np.isnan(variant.cost_factor):
                doubled.append(result.objective)
                continue
            assert result.objective == pytest.approx(
                base.objective * variant.cost_factor,
                rel=1e-5,
                abs=1e-9 * instance.total_scatter * variant.cost_factor,
            ), (seed, variant.name)
            # Its labels, carried back to the original points, are optimal there, too.
            labels = np.empty(instance.n_points, dtype=np.int64)
            labels[variant.original] = result.labels
            back = Clustering.from_labels(instance, labels)
            assert back.satisfies(instance)
            assert back.cost == pytest.approx(base.objective, rel=1e-5, abs=1e-9 * instance.total_scatter)
        assert doubled[0] == pytest.approx(doubled[1], rel=1e-5, abs=1e-9 * instance.total_scatter)

"""A worked example on Fisher's iris data: the most that the package can do so far, in a few seconds."""

from __future__ import annotations

import sys

from certimeans.errors import InfeasibleError
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.constraints import Constraints
from certimeans.problem.generate import generate_constraints
from certimeans.problem.instance import Instance


def run() -> None:
    """Constrain, presolve and explain; print each step."""
    from sklearn.datasets import load_iris  # noqa: PLC0415  # slow to import, needed only here

    iris = load_iris()
    for k, must_link, cannot_link in ((3, 25, 25), (2, 0, 75)):
        classes = iris.target if k == 3 else iris.target > 0
        constraints = generate_constraints(classes, must_link, cannot_link, seed=0)
        instance = Instance(iris.data, k, constraints)
        presolved = presolve(instance)
        true_classes = Clustering.from_labels(instance, classes)
        _say(f"iris: {instance}")
        _say(f"  presolve: {instance.n_points} points become {presolved.super_points.size} super-points")
        _say(f"    {presolved.n_merged_by_must_links} merged by must-links")
        _say(f"    {presolved.n_merged_by_inference} more that follow from the cannot-links")
        _say(f"  the true classes keep every constraint at cost {true_classes.cost:.4f}")
    _say("\nand when constraints contradict each other:")
    try:
        wrong = Constraints.create(must_link=[(0, 7), (7, 60), (60, 120)], cannot_link=[(120, 0)])
        presolve(Instance(iris.data, 3, generate_constraints(iris.target, 25, 25, seed=0) | wrong))
    except InfeasibleError as error:
        _say(f"  {error}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")

"""A worked example on Fisher's iris data: the most that the package can do so far, in a few seconds."""

from __future__ import annotations

import sys

from certimeans.errors import InfeasibleError
from certimeans.problem.constraints import Constraints
from certimeans.problem.generate import generate_constraints
from certimeans.problem.instance import Instance
from certimeans.report.progress import ProgressLog
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance


def run_demo() -> None:
    """Solve with and without constraints, and show what happens when they contradict each other."""
    from sklearn.datasets import load_iris  # noqa: PLC0415  # slow to import, needed only here

    iris = load_iris()
    pairs = generate_constraints(iris.target, 25, 25, seed=0)
    _say("Fisher's iris data, 3 clusters. The first run on a machine compiles for about a minute.\n")
    for title, constraints in (
        ("without constraints", Constraints()),
        ("with 25 must-links and 25 cannot-links", pairs),
    ):
        _say(f"{title}:")
        log = ProgressLog(sys.stdout, quiet=False)
        result = solve_instance(Instance(iris.data, 3, constraints), Limits(), callback=log.progress)
        _say(result.summary() + "\n")
    _say("when constraints contradict each other:")
    wrong = Constraints.create(must_link=[(0, 7), (7, 60), (60, 120)], cannot_link=[(120, 0)])
    try:
        solve_instance(Instance(iris.data, 3, pairs | wrong), Limits())
    except InfeasibleError as error:
        _say(str(error))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")

"""A worked example on Fisher's iris data: solve, look, verify, and see what happens when constraints contradict."""

from __future__ import annotations

import sys
from pathlib import Path

from certimeans.certificate.check import verify
from certimeans.errors import InfeasibleError
from certimeans.problem.constraints import Constraints
from certimeans.problem.generate import generate_constraints
from certimeans.problem.instance import Instance
from certimeans.report.directory import prepare_directory, write_directory
from certimeans.report.progress import choose_display
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance


def run_demo(folder: Path, *, overwrite: bool = False) -> None:
    """Solve with and without constraints, verify the certificate, and write everything into a folder."""
    from sklearn.datasets import load_iris  # noqa: PLC0415  # slow to import, needed only here

    prepare_directory(folder, overwrite=overwrite)
    iris = load_iris()
    names = tuple(iris.feature_names)
    pairs = generate_constraints(iris.target, 25, 25, seed=0)
    _say("Fisher's iris data, 3 clusters.")
    for title, constraints in (
        ("Without constraints", Constraints()),
        ("With 25 must-links and 25 cannot-links", pairs),
    ):
        _say(f"\n{title}:")
        with choose_display(sys.stdout, quiet=False) as display:
            instance = Instance(iris.data, 3, constraints, feature_names=names)
            result = solve_instance(instance, Limits(), callback=display.progress)
        _say(result.summary())
    write_directory(result, folder, command="certimeans demo")
    _say(f"\nVerified by code that shares nothing with the solver:\n{verify(folder).sentence()}")
    _say("\nWhen constraints contradict each other:")
    wrong = Constraints.create(must_link=[(0, 7), (7, 60), (60, 120)], cannot_link=[(120, 0)])
    try:
        solve_instance(Instance(iris.data, 3, pairs | wrong), Limits())
    except InfeasibleError as error:
        _say(str(error))
    _say(f"\nOpen {folder / 'report.html'} in a browser; labels and certificate are beside it.")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()

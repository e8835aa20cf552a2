import math

import pytest

from certimeans.bench.published import Published, Verdict, compare, contradiction

SOLVED = Published(size=10, cost=100.0, root_gap_percent=0.01, nodes=1, seconds=50.0)
UNSOLVED = Published(size=10, cost=100.0, root_gap_percent=0.5, nodes=200, seconds=50.0, final_gap_percent=0.03)


@pytest.mark.parametrize(
    ("objective", "lower_bound", "verdict"),
    [
        (100.0004, 99.999, Verdict.EQUAL),  # within half a unit of the sixth digit
        (99.9995, 99.99, Verdict.EQUAL),
        (99.995, 99.99, Verdict.BETTER),  # the published proof, to 0.01 %, leaves room for it
        (100.01, 99.99, Verdict.WORSE),
        (101.0, 100.9, Verdict.NOT_COMPARABLE),  # the published value is below a proven bound
        (99.0, 98.9, Verdict.NOT_COMPARABLE),  # the published proof excludes a clustering that exists
        (math.inf, 50.0, Verdict.NONE),
    ],
)
def test_verdicts_on_a_published_optimum(objective: float, lower_bound: float, verdict: Verdict) -> None:
    """Rounding, the published gap and our bound decide."""
    assert compare(SOLVED, objective, lower_bound) is verdict


def test_a_value_that_was_not_proven_can_be_beaten_by_any_margin() -> None:
    """Without a published proof nothing contradicts a much lower cost."""
    assert compare(UNSOLVED, 90.0, 89.0) is Verdict.BETTER
    assert contradiction(SOLVED, 90.0, 89.0) == "published optimum 100, but a clustering costs 90"
    assert compare(None, 90.0, 89.0) is Verdict.NONE

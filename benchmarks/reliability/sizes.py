"""Limits on the sizes of clusters, many times: against enumeration, with every certificate verified."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.reliability.answers import WITHOUT_CUTS
from benchmarks.reliability.outcome import Outcome
from certimeans.certificate.check import verify
from certimeans.errors import InfeasibleError
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance
from tests.oracles.sizes import limited_instance

_FIRST_SEED = 30_000


def cluster_sizes(count: int) -> Outcome:
    """Solve small instances with sizes, capacities and links, with and without cuts in turn.

    Same status and same cost as enumeration, a bound that is not above the optimum, and a certificate that is verified
    and proves no more than that.
    """
    outcome = Outcome("limits on sizes, each certificate verified")
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(_FIRST_SEED, _FIRST_SEED + count):
            stated = limited_instance(seed)
            best = stated.optimum()
            settings = WITHOUT_CUTS if seed % 2 else None
            try:
                result = solve_instance(stated.build(), Limits(gap=1e-6), settings=settings)
            except InfeasibleError:
                seen["infeasible"] += 1
                outcome.count(best is None, f"seed {seed}: declared infeasible")
                continue
            seen["with a tree" if result.nodes > 1 else "at the root"] += 1
            right = best is not None and result.labels is not None and stated.allows(result.labels.tolist())
            right = right and best is not None and result.lower_bound <= best <= result.objective
            right = right and best is not None and result.objective <= float(best) * (1 + 1.1e-6) + 1e-12
            outcome.count(right, f"seed {seed}: {result.status} {result.objective}, optimum {best}")
            result.save(folder, report=False, overwrite=True)
            outcome.expect_no_error(lambda: verify(Path(folder)), f"seed {seed}: certificate")
    outcome.note = ", ".join(f"{number} {what}" for what, number in sorted(seen.items()))
    return outcome

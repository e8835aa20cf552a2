"""What callers may pass, and what the solver makes of it: shared by ``solve``, the estimator and the command line."""

from __future__ import annotations

from numbers import Integral
from typing import Literal

import numpy as np

from certimeans.errors import InputError


def as_n_jobs(n_jobs: object) -> int:
    """Return a number of processes: ``None`` for 1 or what a ``joblib.parallel_config`` says, -1 for all cores."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise InputError(f"n_jobs must be None or an integer other than 0 (-1 for all cores); got {n_jobs!r}")
    if n_jobs == 1:
        return 1
    from joblib import effective_n_jobs  # noqa: PLC0415  # slow to import, and not always needed

    return int(effective_n_jobs(n_jobs))


def as_seed(random_state: object) -> int:
    """Return an integer as it is; draw a seed from a NumPy generator, or for ``None`` from NumPy's global one."""
    most = np.iinfo(np.int32).max
    if random_state is None:
        return int(np.random.randint(most))  # noqa: NPY002  # scikit-learn's convention: np.random.seed makes it repeat
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(most))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(most))
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise InputError(
            f"random_state must be a non-negative integer, a NumPy generator or None; got {random_state!r}"
        )
    return int(random_state)


def as_part_size(part_size: object) -> int | Literal["auto"] | None:
    """Return a number of super-points per part, ``"auto"`` or ``None``."""
    if part_size is None:
        return None
    if isinstance(part_size, str) and part_size == "auto":
        return "auto"
    if not isinstance(part_size, Integral) or isinstance(part_size, bool) or part_size < 1:
        raise InputError(f"part_size must be a positive integer, 'auto' or None; got {part_size!r}")
    return int(part_size)

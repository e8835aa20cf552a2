"""Several solves at once in threads of one program."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from certimeans import solve
from certimeans.blas import one_blas_thread


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_threads_do_not_disturb_each_other() -> None:
    """Four problems, two at a time: labels, bounds and nodes as if each had been solved alone."""

    def answer(seed: int) -> tuple[Any, ...]:
        random = np.random.default_rng(seed)
        links = random.permutation(25)[:10].reshape(-1, 2)
        result = solve(random.random((25, 3)), 3, cannot_link=links, random_state=seed)
        assert result.labels is not None
        return result.labels.tolist(), result.objective, result.lower_bound, result.nodes

    alone = [answer(seed) for seed in range(4)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(answer, range(4))) == alone


def test_the_last_thread_restores_what_the_first_one_found() -> None:
    """The number of BLAS threads belongs to the program, whichever solve ends first."""
    with threadpool_limits(2, "blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert set(blas_threads()) == {1}
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        second.__exit__(None, None, None)
        assert set(blas_threads()) == {2}

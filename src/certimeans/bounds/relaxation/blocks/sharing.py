"""Blocks are shared between threads: what goes from one to another is in order, and so is every number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

from certimeans.bounds.lapack import shared_by_threads

Result = TypeVar("Result")


class Map(Protocol):
    """Python's own ``map``, or that of a pool of threads."""

    def __call__(self, function: Callable[[int], Result], numbers: Iterable[int], /) -> Iterable[Result]:
        """Call a function for each number; results are in order."""
        ...


@contextmanager
def shared(n_threads: int) -> Iterator[Map]:
    """Give a ``map`` of so many threads."""
    if n_threads == 1:
        yield map
        return
    with ThreadPoolExecutor(n_threads) as pool, shared_by_threads():
        yield pool.map

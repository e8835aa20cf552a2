"""Threads that share the rows or columns of one matrix: products, and compiled loops over a triangle.

BLAS has threads of its own, but these wait for each other in busy loops: where anything else runs on the machine, two
of them are slower than one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from certimeans._typing import Single

Result = TypeVar("Result")


class Threads:
    """The caller's thread and ``count - 1`` others; a context, after which these have ended."""

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._others = ThreadPoolExecutor(count - 1) if count > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._others is not None:
            self._others.shutdown()

    def each(self, function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]) -> list[Result]:
        """Call a function with each of the given arguments, the first ones in this thread; results are in order."""
        first, *more = arguments
        if self._others is None:
            return [function(*given) for given in (first, *more)]
        running = [self._others.submit(function, *given) for given in more]
        own = function(*first)
        return [own, *(result.result() for result in running)]

    def ranges(self, count: int) -> list[tuple[int, int]]:
        """Divide 0..count-1 into equal ranges, one for each thread."""
        return _between([round(count * t / self.count) for t in range(self.count + 1)])

    def rows_of_triangle(self, size: int, multiple: int = 1) -> list[tuple[int, int]]:
        """Divide the rows of an upper triangle into ranges of equal areas, each from a multiple of some number on."""
        below = (1 - np.sqrt(1 - t / self.count) for t in range(self.count))
        return _between([*(min(size, multiple * round(size * share / multiple)) for share in below), size])

    def product(self, left: Single, right: Single) -> Single:
        """Multiply two matrices; each thread has some of the columns."""
        if self.count == 1:
            return np.asarray(left @ right)
        result = np.empty((left.shape[0], right.shape[1]), dtype=np.float32, order="F")
        parts = self.ranges(right.shape[1])
        self.each(np.matmul, [(left, right[:, first:last], result[:, first:last]) for first, last in parts])
        return result

    def square(self, left: Single) -> Single:
        """Multiply a matrix with its own transpose.

        Two halves of the rows give two squares, which take half of a product each, and one product between them.
        """
        if self.count == 1:
            return np.asarray(left @ left.T)
        size = len(left)
        upper, lower = left[: size // 2], left[size // 2 :]
        result = np.empty((size, size), dtype=np.float32)

        def squares() -> None:
            result[: len(upper), : len(upper)] = upper @ upper.T
            result[len(upper) :, len(upper) :] = lower @ lower.T

        def between() -> None:
            product = upper @ lower.T
            result[: len(upper), len(upper) :] = product
            result[len(upper) :, : len(upper)] = product.T

        self.each(lambda task: task(), [(squares,), (between,)])
        return result


def _between(ends: list[int]) -> list[tuple[int, int]]:
    return list(pairwise(ends))

"""The user's own table: rows and columns as they came, for answers that are given in the same form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from certimeans._typing import IntArray


@dataclass(frozen=True, eq=False)
class SourceTable:
    """Where the points came from.

    Attributes
    ----------
    n_rows
        Rows of the table; some may not have become points.
    row_of_point
        The row of each point.
    names
        Names of all rows, if they have any.
    titles
        Titles of all columns of a file, also of those that are no features; ``None`` without a header.
    rows
        All cells of a file as text; ``None`` if the points did not come from one.
    separator, decimal
        How the file writes its cells.
    frame
        The DataFrame that was passed, if it was one.
    notes
        Sentences on how the table was understood, and what the user should know about it.
    missing
        What was done about missing values, as plain data: ``rule``, ``values`` by feature, and ``dropped_rows``.
    one_based
        Whether the user numbers the points from 1.
    links_by_name
        Whether the user's constraints name points by these names only, never by number.
    """

    n_rows: int
    row_of_point: IntArray
    names: tuple[str, ...] | None = None
    titles: tuple[str, ...] | None = None
    rows: Sequence[Sequence[str]] | None = None
    separator: str = ","
    decimal: str = "."
    frame: Any = None
    notes: tuple[str, ...] = ()
    missing: dict[str, Any] = field(default_factory=dict)
    one_based: bool = False
    links_by_name: bool = False

    @classmethod
    def of_frame(cls, frame: Any) -> SourceTable:
        """Remember a DataFrame; its index names the points unless it just numbers them."""
        index = frame.index
        numbers_rows = index.nlevels == 1 and index.dtype.kind in "iu" and (index == np.arange(len(frame))).all()
        names = None if numbers_rows else _written(index)
        return cls(len(frame), np.arange(len(frame)), names, frame=frame)

    @cached_property
    def row_names(self) -> tuple[str, ...] | None:
        """Names of the points, if they have any."""
        if self.names is None or self.is_whole:
            return self.names
        return tuple(self.names[row] for row in self.row_of_point.tolist())

    @property
    def is_whole(self) -> bool:
        """Whether every row is a point."""
        return self.n_rows == len(self.row_of_point)

    def spread(self, values: Sequence[Any]) -> list[Any]:
        """Give each row the value of its point; ``None`` where there is no point."""
        spread: list[Any] = [None] * self.n_rows
        for row, value in zip(self.row_of_point.tolist(), values, strict=True):
            spread[row] = value
        return spread

    def name_of(self, point: int) -> str:
        """Say which point is meant: its row, in the user's numbering, and its name."""
        number = self._number(point)
        return number if self.row_names is None else f"{number} ({self.row_names[point]})"

    def short_name_of(self, point: int) -> str:
        """Return the name of a point, or its number."""
        return self._number(point) if self.row_names is None else self.row_names[point]

    def written(self, point: int) -> str:
        """Write a point as the user's constraint files do."""
        return self.short_name_of(point) if self.links_by_name else self._number(point)

    def _number(self, point: int) -> str:
        return str(int(self.row_of_point[point]) + int(self.one_based))


def _written(index: Any) -> tuple[str, ...]:
    """Write the labels of a DataFrame's index; dates without a time of day, and the levels of several side by side."""
    if index.nlevels > 1:
        return tuple(", ".join(map(str, label)) for label in index)
    if index.dtype.kind == "M" and (index == index.normalize()).all():
        return tuple(label.date().isoformat() for label in index)
    return tuple(str(label) for label in index)

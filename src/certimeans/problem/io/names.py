"""Points by name: which one is meant, and what to say if it is none or several."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from certimeans.errors import InputError
from certimeans.problem.io.text import shown

_MOST_COMPARED = 20_000  # comparing one name with more takes longer than one waits for a message
_MOST_PLACES = 5

Name = TypeVar("Name", bound=Hashable)


class PointNames(Generic[Name]):
    """Finds points by their names, which may be any labels.

    Parameters
    ----------
    names
        One for each point.
    first
        The number of the first point in messages.
    """

    def __init__(self, names: Sequence[Name], *, first: int = 0) -> None:
        self._names = names
        self._first = first
        self._places: dict[Name, int] = {}
        self._repeated: set[Name] = set()
        for place, name in enumerate(names):
            if self._places.setdefault(name, place) != place:
                self._repeated.add(name)

    def get(self, name: Name, default: int) -> int:
        """Return the first point that has a name, or ``default``."""
        return self._places.get(name, default)

    def knows(self, name: Name) -> bool:
        """Whether any point has a name."""
        return name in self._places

    def find(self, name: Name) -> int:
        """Return the point that has a name.

        Raises
        ------
        InputError
            If none has, with the nearest names; or if several have.
        """
        if name in self._repeated:
            places = [str(i + self._first) for i, other in enumerate(self._names) if other == name]
            more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
            raise InputError(
                f"{shown(name)} is the name of {len(places)} points, numbers {', '.join(places[:_MOST_PLACES])}{more}; "
                "give them different names, or use the numbers"
            )
        if name not in self._places:
            raise InputError(f"no point is named {shown(name)}{self._suggestion(name)}")
        return self._places[name]

    def _suggestion(self, name: Name) -> str:
        known = {str(other).casefold(): str(other) for other in self._names[:_MOST_COMPARED]}
        near = difflib.get_close_matches(str(name).casefold(), known, 3, 0.6)
        return f"; did you mean {' or '.join(shown(known[match]) for match in near)}?" if near else ""

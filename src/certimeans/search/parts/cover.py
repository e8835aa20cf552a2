"""The parts that make up the present bound, and the larger ones that take their place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from certimeans.proof.steps import StoredPart
from certimeans.search.parts.tasks import Entries, Key, PartOutcome, Stored


@dataclass(frozen=True, eq=False)
class Known:
    """What is proven about a part, and where the proof is; see :class:`~certimeans.search.parts.tasks.PartOutcome`.

    Attributes
    ----------
    is_short
        Whether more can be proven about it: its time was short, or it was bounded for a larger gap than is asked for.
    """

    value: float
    cost: float
    entries: Entries
    file: Path | bytes
    own_cost: float = math.inf
    is_short: bool = False

    @property
    def proof(self) -> Stored:
        """The proof itself."""
        return self.entries, self.file if isinstance(self.file, bytes) else self.file.read_bytes()


class Cover:
    """Parts, some of them united from smaller ones, which together hold every point.

    The bound of a united part is the larger of its own and the sum of those that it was united from: uniting never
    lowers it.
    """

    def __init__(self, n_parts: int) -> None:
        self.tops: list[Key] = [(p,) for p in range(n_parts)]
        self.known: dict[Key, Known] = {}
        self._children: dict[Key, tuple[Key, ...]] = {}
        self._n_pieces = 0  # their names are negative numbers
        self._values: dict[Key, float] = dict.fromkeys(self.tops, 0.0)
        self._total: float | None = 0.0  # None if it has to be added up again

    def take(self, key: Key, known: Known) -> None:
        """Take over a bound if it is better than what was known."""
        before = self.known.get(key)
        if before is None:
            self.known[key] = known
        elif known.value > before.value:
            self.known[key] = replace(known, own_cost=min(known.own_cost, before.own_cost))
        if key in self._values:
            self._values[key] = self.value(key)
            self._total = None

    def learn(self, outcome: PartOutcome) -> None:
        """Take over what a bound that is no better than the known one says about a part."""
        before = self.known[outcome.key]
        own_cost = min(before.own_cost, outcome.own_cost)
        self.known[outcome.key] = replace(before, own_cost=own_cost, is_short=outcome.is_cut_short)

    def put_inside(self, key: Key, pieces: Sequence[Known]) -> None:
        """Let bounds of pieces of a part count until there is a better one of the part."""
        names = [(-1 - self._n_pieces - i,) for i in range(len(pieces))]
        self._n_pieces += len(pieces)
        self.known.update(zip(names, pieces, strict=True))
        self._children[key] = tuple(names)
        self._values[key] = self.value(key)
        self._total = None

    def take_out(self, key: Key) -> list[Known]:
        """Forget the pieces of a part whose own bound is no worse; return what is needed no more."""
        names = self._children.get(key, ())
        if not names or names[0][0] >= 0 or key not in self.known or self.known[key].value < self.value(key):
            return []
        del self._children[key]
        return [self.known.pop(name) for name in names]

    def value(self, key: Key) -> float:
        """Return what is proven about a part, rounded down."""
        children = self._children.get(key, ())
        inside = _sum_down([self.value(child) for child in children]) if children else 0.0
        known = self.known.get(key)
        return inside if known is None else max(inside, known.value)

    def loss(self, key: Key) -> float:
        """Return how far the bound of a part is below the cost of the whole's clustering in it; infinite if unknown."""
        known = self.known.get(key)
        if known is not None:
            return known.cost - self.value(key)
        return math.fsum(self.loss(child) for child in self._children[key]) if key in self._children else math.inf

    def total(self) -> float:
        """Return the sum of all bounds, rounded down: proven."""
        if self._total is None:
            self._total = _sum_down(list(self._values.values()))
        return self._total

    def unite(self, unions: Iterable[Sequence[Key]]) -> list[Key]:
        """Put parts together; return the names of the new ones."""
        new = []
        for together in unions:
            key = tuple(sorted(p for part in together for p in part))
            self._children[key] = tuple(together)
            for part in together:
                del self._values[part]
            self._values[key] = self.value(key)
            new.append(key)
        self.tops = list(self._values)
        self._total = None
        return new

    def restore(self, key: Key) -> bool:
        """Put those parts together that make up the given one; say whether there are such."""
        inside = [part for part in self._values if set(part) <= set(key)]
        if len(inside) < 2 or sum(map(len, inside)) != len(key):
            return False
        self.unite([inside])
        return True

    def proofs(self) -> tuple[StoredPart, ...]:
        """Return what proves the bound: of each part its own proof, or those of the parts inside."""
        found: list[StoredPart] = []
        stack = list(reversed(self.tops))
        while stack:
            key = stack.pop()
            known = self.known.get(key)
            children = self._children.get(key, ())
            inside = _sum_down([self.value(child) for child in children]) if children else 0.0
            if known is not None and known.value >= inside:
                if known.value > 0:  # parts that prove nothing need not be there
                    found.append(StoredPart(known.entries, known.file))
            else:
                stack.extend(reversed(children))
        return tuple(found)


def _sum_down(values: list[float]) -> float:
    """Add up without rounding but for the last step, which goes down."""
    total = math.fsum(values)
    return max(0.0, math.nextafter(total, -math.inf)) if len(values) > 1 else total

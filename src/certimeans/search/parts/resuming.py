"""Go on with what an earlier run stored: every bound is proven again before it counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from certimeans.bounds.parts.bounding import Effort
from certimeans.bounds.parts.problem import Part
from certimeans.search.parts.cover import Cover, Known
from certimeans.search.parts.store import Plan, StoredProof
from certimeans.search.parts.tasks import Key, PartOutcome, PartTask

_BATCH = 10  # parts in a task; united ones come one by one


@dataclass(frozen=True, eq=False)
class Repetition:
    """Makes the tasks that prove stored bounds again, and takes what they prove."""

    latest: Mapping[Key, StoredProof]
    cover: Cover
    part_of: Callable[[Key], Part]
    effort: Effort
    announce: Callable[[], None]
    is_united: bool

    def make(self, keys: tuple[Key, ...], _: Collection[PartTask]) -> PartTask:
        """Make a task of some stored parts."""
        stored = tuple((self.latest[key].entries, _content(self.latest[key].path)) for key in keys)
        return PartTask(keys, tuple(map(self.part_of, keys)), self.effort, stored=stored)

    def batch(self) -> int:
        """Return how many parts a task has."""
        return 1 if self.is_united else _BATCH

    def take(self, outcome: PartOutcome) -> None:
        """Keep what is proven again."""
        key, entries, path, own_cost, is_short = self.latest[outcome.key]
        self.cover.take(key, Known(outcome.value, outcome.cost, entries, path, own_cost, is_short))
        self.announce()


def _content(path: Path) -> bytes:
    """Read a file; one that is gone or cannot be read proves nothing, as an empty one."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def proofs_to_repeat(
    stored: Sequence[StoredProof],
    cover: Cover,
    part_of: Callable[[Key], Part],
    effort: Effort,
    announce: Callable[[], None],
) -> Iterator[tuple[list[Key], Repetition]]:
    """List what is to be proven again: single parts first, then those that were united from them."""
    latest = {one.key: one for one in stored}
    for length in sorted({len(key) for key in latest}):
        keys = [key for key in latest if len(key) == length and (length == 1 or cover.restore(key))]
        yield keys, Repetition(latest, cover, part_of, effort, announce, length > 1)


def describe_saving(folder: Path, plan: Plan | None, n_stored: int, cost: float) -> str:
    """Say where parts are saved, and what was there already."""
    if plan is None:
        return f"saved:    each part in {folder} as soon as it is done"
    found = f"incumbent {cost:.8g}" if cost < math.inf else "no clustering yet"
    return f"resumed:  from {folder}, {plan.split.n_parts} parts ({n_stored} proofs to repeat), {found}"

"""What a worker is given, and what it gives back: parts that carry their own points. No worker sees the whole."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from certimeans.bounds.parts.bounding import Effort, PartBound, bound_part, prove_part_again
from certimeans.bounds.parts.matching import Template, start_from_proof
from certimeans.bounds.parts.problem import Part
from certimeans.bounds.protocol import StopReason
from certimeans.bounds.relaxation.bounder import WarmStart
from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.deadline import Deadline
from certimeans.proof.parts import pack_part, unpack_part, unpack_part_of
from certimeans.proof.steps import RelaxationStep

Key = tuple[int, ...]
"""The numbers of the parts that are bounded together: one, or several that were united."""

Entries = list[list[dict[str, Any]]]

Stored = tuple[Entries, bytes]
"""A proof, as certificates have it."""


@dataclass(frozen=True, eq=False)
class PartTask:
    """Parts to bound, one after the other.

    Attributes
    ----------
    keys, parts
        Their names and the parts themselves.
    effort
        How far to go.
    template
        What to start from: a solved part, or the file that has it.
    seed
        With its name it determines all random choices in a part.
    seconds
        Time for each part; ``None`` for no limit.
    seconds_left
        Time for all of them; ``None`` for no limit.
    wants_template
        Whether what the bounds end with is needed for others.
    stored
        Proofs to prove again instead, in place of new bounds.
    starts
        Proofs to start from, if there are any; ``None`` for parts that have none.
    """

    keys: tuple[Key, ...]
    parts: tuple[Part, ...]
    effort: Effort
    template: Template | Path | None = None
    seed: int = 0
    seconds: float | None = None
    seconds_left: float | None = None
    wants_template: bool = False
    stored: tuple[Stored, ...] = ()
    starts: tuple[Stored | None, ...] = ()


@dataclass(frozen=True, eq=False)
class PartOutcome:
    """What became of a part; see :class:`~certimeans.bounds.parts.bounding.PartBound`.

    Attributes
    ----------
    entries, file
        The proof, as certificates have it; ``file`` is ``None`` for one that was stored before.
    own_cost
        Of the best clustering of the part that was looked for; infinite if none was.
    seconds, overrun
        How long it took, and how much longer than it was allowed to if it was cut short: a bound has to be proven and
        put away after the last iteration.
    is_cut_short
        Whether the time for it ended before the bound was as good as it was meant to be.
    template
        What other parts may start from, if it was asked for.
    """

    key: Key
    value: float
    cost: float
    entries: Entries
    file: bytes | None
    own_cost: float = math.inf
    seconds: float = 0.0
    overrun: float = 0.0
    rounds: int = 0
    n_cuts: int = 0
    is_cut_short: bool = False
    template: Template | None = None


def perform_parts(task: PartTask, deadline: Deadline | None = None) -> list[PartOutcome]:
    """Bound the parts of a task; when time is up, those that are left get the bound that costs nothing."""
    deadline = deadline or Deadline(task.seconds_left)
    if task.stored:
        stored = zip(task.keys, task.parts, task.stored, strict=True)
        return [outcome for key, part, proof in stored if (outcome := _prove_again(key, part, *proof)) is not None]
    template = _read_template(task.template) if isinstance(task.template, Path) else task.template
    outcomes = []
    for place, (key, part) in enumerate(zip(task.keys, task.parts, strict=True)):
        own = deadline if task.seconds is None else deadline.within(task.seconds)
        seed = int(np.random.SeedSequence([task.seed, *key]).generate_state(1)[0])
        began = time.perf_counter()
        start = _start(part, task.starts[place]) if task.starts else None
        bound = bound_part(part, task.effort, template=template, start=start, seed=seed, deadline=own)
        outcome = _outcome(key, part, bound, task)
        seconds = time.perf_counter() - began
        overrun = 0.0 if task.seconds is None or not outcome.is_cut_short else max(0.0, seconds - task.seconds)
        outcomes.append(replace(outcome, seconds=seconds, overrun=overrun))
    return outcomes


def _outcome(key: Key, part: Part, bound: PartBound, task: PartTask) -> PartOutcome:
    is_cut_short = bound.reason is StopReason.DEADLINE
    shares = part.weights if part.has_shares else None
    has_time = not is_cut_short and task.effort.iterations is None
    entries, file = pack_part(part.members, shares, bound.step, is_compressed=has_time)
    template = Template.of(part, bound.start) if task.wants_template and bound.start is not None else None
    return PartOutcome(
        key,
        bound.value,
        bound.cost,
        entries,
        file,
        bound.own_cost,
        rounds=bound.rounds,
        n_cuts=bound.n_cuts,
        is_cut_short=is_cut_short,
        template=template,
    )


def _start(part: Part, stored: Stored | None) -> WarmStart | None:
    """Go on from a proof; any start is legal."""
    step = None if stored is None else unpack_part(*stored)
    return start_from_proof(part, step) if isinstance(step, RelaxationStep) else None


def _prove_again(key: Key, part: Part, entries: Entries, file: bytes) -> PartOutcome | None:
    """Prove a stored bound again; ``None`` if it proves nothing, whatever the reason."""
    try:
        step = unpack_part_of(entries, file, part.members, part.weights if part.has_shares else None)
        value = 0.0 if step is None else prove_part_again(part, step)
    except Exception:  # noqa: BLE001  # a file may be damaged or edited in any way; the part is bounded anew then
        return None
    cost = part.cost(part.labels)
    return PartOutcome(key, value, cost, entries, None) if np.isfinite(value) else None


def write_template(template: Template, path: Path) -> None:
    """Write a template for other processes of this machine."""
    cuts = template.cuts
    np.savez(
        path,
        means=template.means,
        labels=template.labels,
        weights=template.weights,
        primal=template.primal,
        dual=template.dual,
        members=cuts.members,
        coefficients=cuts.coefficients,
        multipliers=cuts.multipliers,
    )


@lru_cache(maxsize=1)
def _read_template(path: Path) -> Template | None:
    if not path.exists():
        return None  # any start will do, also none
    with np.load(path, allow_pickle=False) as arrays:
        cuts = Cuts(arrays["members"], arrays["coefficients"], arrays["multipliers"])
        return Template(arrays["means"], arrays["labels"], arrays["weights"], arrays["primal"], arrays["dual"], cuts)

"""Where tamperings are listed, and what they need to find their way in a certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.oracles.certificates import fingerprint

Content = dict[str, Any]
Arrays = dict[str, Any]
Tampering = Callable[[Content, Arrays], None]

TAMPERINGS: dict[str, Tampering] = {}
NEED_DATA = {"drop_a_cannot_link_and_forge_the_fingerprint", "drop_a_must_link_and_forge_the_fingerprint"}
FILE_TAMPERINGS: dict[str, Callable[[Path], None]] = {}


class NotApplicableError(Exception):
    """The certificate has nothing of that kind."""


def tampering(function: Tampering) -> Tampering:
    """List a tampering by its name."""
    TAMPERINGS[function.__name__] = function
    return function


def forged(name: str, function: Tampering) -> None:
    """List a tampering that also makes the fingerprint fit."""

    def forge(content: Content, arrays: Arrays) -> None:
        function(content, arrays)
        content["fingerprint"] = fingerprint(content, arrays)

    TAMPERINGS[name] = forge


def need(condition: Any) -> None:
    """Say that a certificate has nothing to falsify in that way, if the condition does not hold."""
    if not condition:
        raise NotApplicableError


def step_of(content: Content, kind: str) -> tuple[int, int]:
    """Return the place of the first step of a kind."""
    for e, steps in enumerate(content["proof"]):
        for s, step in enumerate(steps):
            if step["kind"] == kind:
                return e, s
    raise NotApplicableError


def object_of(content: Content, kind: str) -> dict[str, Any]:
    """Return the first step of a kind."""
    e, s = step_of(content, kind)
    step: dict[str, Any] = content["proof"][e][s]
    return step


def proof_of(content: Content, arrays: Arrays, *, with_cuts: bool = False) -> str:
    """Return the beginning of the names of some relaxation's arrays."""
    for prefix in prefixes(content, "relaxation"):
        if not with_cuts or len(arrays[f"{prefix}cut_member"]) > 0:
            return prefix
    raise NotApplicableError


def prefixes(content: Content, kind: str) -> list[str]:
    """Return the beginnings of the names of arrays of all steps of a kind."""
    steps = [(e, s, step) for e, steps in enumerate(content["proof"]) for s, step in enumerate(steps)]
    return [f"e{e}s{s}_" for e, s, step in steps if step["kind"] == kind]


def without(content: Content, arrays: Arrays, kinds: set[str]) -> None:
    """Drop all steps of some kinds, and renumber the arrays of the others."""
    for e, steps in enumerate(content["proof"]):
        kept: list[Any] = []
        for s, step in enumerate(steps):
            names = [name for name in arrays if name.startswith(f"e{e}s{s}_")]
            values = {name.partition("_")[2]: arrays.pop(name) for name in names}
            if step["kind"] not in kinds:
                arrays.update({f"e{e}s{len(kept)}_{name}": value for name, value in values.items()})
                kept.append(step)
        content["proof"][e] = kept


def leaf_of_labels(content: Content, arrays: Arrays) -> list[dict[str, Any]]:
    """Follow the clustering down the proof; return the steps of the entry where it ends."""
    labels, here = arrays["labels"], 0
    while content["proof"][here] and content["proof"][here][-1]["kind"] == "branch":
        step = content["proof"][here][-1]
        i, j = step["pair"]
        here = step["together" if labels[i] == labels[j] else "apart"]
    steps: list[dict[str, Any]] = content["proof"][here]
    return steps

"""A certificate taken apart: its claims, its instance and the steps of its proof, to be changed and written again.

Reads and writes the files with json and NumPy alone, so that it depends on neither the solver nor the checker.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from tests.oracles.certificates import fingerprint

Arrays = dict[str, Any]
INSTANCE = ("points", "gram", "weights", "must_link", "cannot_link", "capacity", "labels")
PARTS = "certificate.parts"
LISTS = {"parts": "parts", "regions": "proofs"}
"""Where steps of these kinds have the proofs of their parts or regions."""


@dataclass(eq=False)
class Step:
    """A step of a proof, with its arrays under their plain names, and its parts if it has any."""

    plain: dict[str, Any]
    arrays: Arrays = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)


@dataclass(eq=False)
class Part:
    """A part: its members, its shares if it has any, and its proof; for a region, which one with how many clusters."""

    arrays: Arrays
    entries: list[list[Step]]
    plain: dict[str, Any] = field(default_factory=dict)


@dataclass
class Forgery:
    """All that a certificate says.

    Attributes
    ----------
    content
        ``certificate.json`` without the proof.
    arrays
        The instance and the labels.
    result
        ``result.json`` beside it, if there is one.
    """

    content: dict[str, Any]
    arrays: Arrays
    entries: list[list[Step]]
    result: dict[str, Any] | None = None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Take a certificate apart."""
        content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
        arrays = _load(folder / "certificate.npz")
        proof = content.pop("proof")
        own = {name: arrays[name] for name in INSTANCE if name in arrays}
        result = folder / "result.json"
        return cls(
            content,
            own,
            entries_of(proof, arrays, folder / PARTS),
            json.loads(result.read_text(encoding="utf-8")) if result.exists() else None,
        )

    def write(self, folder: Path) -> None:
        """Write the files into an empty folder, numbered as the steps are now."""
        arrays = dict(self.arrays)
        proof = _write_entries(self.entries, arrays, folder / PARTS)
        (folder / "certificate.json").write_text(json.dumps({**self.content, "proof": proof}), encoding="utf-8")
        np.savez(folder / "certificate.npz", **arrays)
        if self.result is not None:
            (folder / "result.json").write_text(json.dumps(self.result), encoding="utf-8")

    def sign(self) -> None:
        """Put the right fingerprint of the present instance."""
        self.content["fingerprint"] = fingerprint(self.content, self.arrays)

    def proofs(self) -> Iterator[list[list[Step]]]:
        """List the proof and those of its parts."""
        yield self.entries
        for step in self.steps():
            for part in step.parts:
                yield part.entries

    def steps(self) -> list[Step]:
        """List all steps but those of parts."""
        return [step for entry in self.entries for step in entry]

    def holders(self) -> list[Arrays]:
        """List the dictionaries of arrays that belong to the proof, and are not empty."""
        found = [step.arrays for proof in self.proofs() for entry in proof for step in entry]
        found += [part.arrays for step in self.steps() for part in step.parts]
        return [arrays for arrays in found if arrays]


def clear(folder: Path) -> None:
    """Empty a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def _load(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def entries_of(proof: list[list[dict[str, Any]]], arrays: Arrays, folder: Path = Path()) -> list[list[Step]]:
    """Take a proof apart; parts are in files of a folder."""
    entries: list[list[Step]] = []
    for e, steps in enumerate(proof):
        entries.append([])
        for s, plain in enumerate(steps):
            prefix = f"e{e}s{s}_"
            own = {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
            step = Step({key: value for key, value in plain.items() if key not in LISTS.values()}, own)
            # A step of another kind may have this key, too; nobody reads it then.
            for p, inner in enumerate(plain[LISTS[plain["kind"]]] if plain["kind"] in LISTS else ()):
                stored = _load(folder / f"e{e}s{s}p{p}.npz")
                outer: Arrays = {name: stored[name] for name in ("members", "shares") if name in stored}
                about = {key: inner[key] for key in inner if key != "proof"} if isinstance(inner, dict) else {}
                proof_of_it = inner["proof"] if isinstance(inner, dict) else inner
                step.parts.append(Part(outer, entries_of(proof_of_it, stored, folder), about))
            entries[-1].append(step)
    return entries


def _write_entries(entries: list[list[Step]], arrays: Arrays, folder: Path) -> list[list[dict[str, Any]]]:
    proof: list[list[dict[str, Any]]] = []
    for e, steps in enumerate(entries):
        proof.append([])
        for s, step in enumerate(steps):
            arrays |= {f"e{e}s{s}_{name}": values for name, values in step.arrays.items()}
            proof[-1].append(dict(step.plain))
            kind = step.plain.get("kind")
            key = LISTS.get(kind if isinstance(kind, str) else "", "parts")
            if step.parts or (isinstance(kind, str) and kind in LISTS):
                proof[-1][-1][key] = []
            for p, part in enumerate(step.parts):
                own = dict(part.arrays)
                inner = _write_entries(part.entries, own, folder)
                proof[-1][-1][key].append({**part.plain, "proof": inner} if part.plain else inner)
                folder.mkdir(exist_ok=True)
                np.savez(folder / f"e{e}s{s}p{p}.npz", **own)
    return proof

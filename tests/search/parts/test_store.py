"""Proofs of parts on disk: what is not ours, or not of today, costs none of them and raises nothing odd."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certimeans import InputError
from certimeans.bounds.parts.bounding import Effort
from certimeans.bounds.parts.problem import Part
from certimeans.bounds.parts.splitting import make_part, split_into_parts
from certimeans.presolve.reduce import Presolved, presolve
from certimeans.problem.instance import Instance
from certimeans.search.parts.cover import Cover
from certimeans.search.parts.resuming import proofs_to_repeat
from certimeans.search.parts.store import PartStore, Plan
from certimeans.search.parts.tasks import Key, PartTask, perform_parts

LABELS = np.arange(240) % 4


def stored_run(folder: Path) -> tuple[PartStore, Presolved, Plan]:
    """Store a plan of eight parts, the proof of the first one, and one that a resumed run does not go on with."""
    presolved = presolve(Instance(np.random.default_rng(0).normal(size=(240, 2)), 4))
    store, plan = PartStore(folder, presolved.instance), Plan(split_into_parts(presolved, LABELS, 8), LABELS)
    store.prepare()
    store.begin(plan)
    part = make_part(presolved, plan.split, LABELS, (0,))
    (outcome,) = perform_parts(PartTask(((0,),), (part,), Effort(1e-3, 4)))
    store.save(outcome)
    store.save(outcome, is_final=False)
    return store, presolved, plan


def content(folder: Path) -> dict[str, bytes]:
    """Read all files."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def write_plan(store: PartStore, **changes: Any) -> None:
    """Edit the plan."""
    path = store.folder / "plan.npz"
    with np.load(path) as archive:
        np.savez(path, **{**dict(archive), **changes})


def test_a_plan_of_another_format_is_refused_and_costs_no_proof(tmp_path: Path) -> None:
    """The proofs may be worth days, and the version that wrote them can go on with them."""
    store, presolved, _ = stored_run(tmp_path)
    head = {"format": 99, "fingerprint": presolved.instance.fingerprint}
    write_plan(store, head=np.array(json.dumps(head)))
    before = content(store.folder)
    with pytest.raises(InputError, match=r"plan.npz: written in format 99; this version reads format \d; remove it"):
        store.load_plan()
    assert content(store.folder) == before


@pytest.mark.parametrize("damage", [b"", b"damaged"])
def test_a_damaged_plan_is_refused_only_if_proofs_would_be_lost(damage: bytes, tmp_path: Path) -> None:
    """The message says what to do; without proofs, or without a plan, a run starts anew."""
    store, _, plan = stored_run(tmp_path)
    (store.folder / "plan.npz").write_bytes(damage)
    before = content(store.folder)
    with pytest.raises(InputError, match="the plan of the parts is damaged; remove"):
        store.load_plan()
    assert content(store.folder) == before
    (store.folder / "index.jsonl").unlink()
    assert store.load_plan() is None
    (store.folder / "plan.npz").unlink()
    assert store.load_plan() is None
    store.clear()
    store.begin(plan)
    assert list(content(store.folder)) == ["plan.npz"]


@pytest.mark.parametrize("name", ["plan.npz", "index.jsonl"])
def test_a_folder_in_place_of_a_file_is_no_checkpoint(name: str, tmp_path: Path) -> None:
    """It is named."""
    store, _, plan = stored_run(tmp_path)
    (store.folder / name).unlink()
    (store.folder / name).mkdir()
    with pytest.raises(InputError, match=f"{name}: not a regular file"):
        list(store.stored(plan.split.n_parts)) if store.load_plan() else None


def test_folders_of_others_stay(tmp_path: Path) -> None:
    """Also one whose name begins like those of our files."""
    store, _, _ = stored_run(tmp_path)
    for name in ("mine", "passing-by"):
        (store.folder / name).mkdir()
    assert store.load_plan() is not None
    store.clear()
    assert {path.name for path in store.folder.iterdir()} == {"mine", "passing-by"}


@pytest.mark.parametrize(
    "line", ["[" * 100_000, json.dumps({"parts": [1], "file": "x" * 5_000, "entries": []}), "\x00", "{}", "1"]
)
def test_lines_that_nobody_wrote_are_left_out(line: str, tmp_path: Path) -> None:
    """Deeply nested ones, and names that no file can have."""
    store, _, plan = stored_run(tmp_path)
    index = store.folder / "index.jsonl"
    index.write_text(f"{line}\n" + index.read_text(encoding="utf-8"), encoding="utf-8")
    assert [proof.key for proof in store.stored(plan.split.n_parts)] == [(0,)]


def test_a_proof_that_is_gone_when_it_is_due_proves_nothing(tmp_path: Path) -> None:
    """Its part is bounded anew."""
    store, presolved, plan = stored_run(tmp_path)
    stored = list(store.stored(plan.split.n_parts))
    stored[0].path.unlink()

    def part_of(key: Key) -> Part:
        return make_part(presolved, plan.split, LABELS, key)

    cover = Cover(plan.split.n_parts)
    ((keys, repetition),) = proofs_to_repeat(stored, cover, part_of, Effort(1e-3, 4), lambda: None)
    assert perform_parts(repetition.make(tuple(keys), [])) == []

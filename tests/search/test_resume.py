import hashlib
import io
import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certimeans import InputError, SolveResult, SolveStatus
from certimeans.certificate.check import verify
from certimeans.deadline import Deadline
from certimeans.presolve import infer
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from certimeans.search.checkpoint import CheckpointStore
from certimeans.search.limits import Limits
from certimeans.search.resume import prove_tree
from certimeans.search.tree import TreeStatus
from certimeans.solver import solve_instance
from tests.search.test_solve import WITHOUT_CUTS

LINKS = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (4, 5), (4, 6), (5, 6), (4, 7), (5, 7), (8, 9), (10, 11)]
EDITS: list[Callable[[float], float]] = [
    lambda _: 0,
    lambda x: x + 1,
    lambda x: -x,
    lambda x: 1000 * x,
    lambda x: x / 2,
    lambda _: 1e9,
]


def make_instance() -> Instance:
    """Draw points that need a tree when no cuts are used, with links from which something follows for k = 3."""
    return Instance.create(np.random.default_rng(1).random((24, 3)), 3, cannot_link=LINKS)


def run(folder: Path | None, gap: float = 1e-4, nodes: int | None = None) -> SolveResult:
    """Solve, or go on, without cuts."""
    return solve_instance(make_instance(), Limits(gap, nodes=nodes), checkpoint=folder, settings=WITHOUT_CUTS)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """List where the plain values of nested lists and dictionaries are."""
    if isinstance(value, (list, dict)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))
    else:
        yield path


def edited(value: Any, random: np.random.Generator) -> Any:
    """Change a value into another one that is well-formed, more or less."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return str(random.choice([*TreeStatus, "merge", "infeasible", "covariance"]))
    if value is None:
        return 1e9
    new = EDITS[random.integers(len(EDITS))](value)
    return type(value)(new) if isinstance(value, int) and random.random() < 0.9 else new


def edit_json(folder: Path, random: np.random.Generator) -> None:
    """Change one to three values of the checkpoint, and sign it again."""
    path = folder / "checkpoint.json"
    record = json.loads(path.read_bytes())
    content = json.loads(record["search"])
    everywhere = list(places(content))
    for place in random.choice(len(everywhere), random.integers(1, 4), replace=False):
        *way, last = everywhere[place]
        inside = content
        for key in way:
            inside = inside[key]
        inside[last] = edited(inside[last], random)
    text = json.dumps(content)
    path.write_text(json.dumps({**record, "search": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}))


def edit_arrays(folder: Path, random: np.random.Generator) -> None:
    """Change one entry of an array of a proof, or all of them."""
    path = random.choice(sorted((folder / "proofs").iterdir()))
    with np.load(path) as stored:
        arrays = dict(stored)
    values = arrays[random.choice(sorted(name for name in arrays if arrays[name].size))]
    with np.errstate(all="ignore"):
        edit = EDITS[random.integers(len(EDITS))]
        if random.random() < 0.5:
            values[...] = (
                np.array([edit(x) for x in values.ravel().tolist()]).reshape(values.shape).astype(values.dtype)
            )
        else:
            values.flat[random.integers(values.size)] = np.array(edit(values.flat[0].item())).astype(values.dtype)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    path.write_bytes(buffer.getvalue())


@pytest.mark.parametrize("edit", [edit_json, edit_arrays])
@pytest.mark.parametrize("nodes", [4, None])
def test_an_edited_checkpoint_makes_no_false_claim(
    tmp_path: Path, nodes: int | None, edit: Callable[[Path, np.random.Generator], None]
) -> None:
    """Any number, status or proof may be changed: bounds stay below the optimum, and optimal is what is proven."""
    best = run(None)
    assert best.nodes > 4
    run(tmp_path / "saved", nodes=nodes)
    refused = 0
    for seed in range(40):
        shutil.copytree(tmp_path / "saved", tmp_path / f"{seed}")
        edit(tmp_path / f"{seed}", np.random.default_rng(seed))
        (tmp_path / f"{seed}" / "checkpoint.previous.json").unlink(missing_ok=True)
        try:
            result = run(tmp_path / f"{seed}", nodes=None if seed % 2 else 1)
        except InputError:
            refused += 1
            continue
        assert result.lower_bound <= best.objective
        assert result.root_lower_bound <= best.objective
        assert result.objective >= best.lower_bound
        if result.status is SolveStatus.OPTIMAL:
            assert result.objective <= best.objective * (1 + 1e-4)
        elif seed % 2:
            pytest.fail(f"{result.status} without a limit")
    assert refused < 40


def test_a_smaller_gap_opens_again_what_a_larger_one_had_pruned(tmp_path: Path) -> None:
    """Solved to 20 %, then to 1 %, then to 0.01 %, with certificates that hold."""
    best = run(None)
    for gap in (0.2, 0.01, 1e-4):
        result = run(tmp_path / "saved", gap)
        assert result.status is SolveStatus.OPTIMAL
        assert result.gap <= gap
        result.save(tmp_path / f"{gap}", report=False)
        verify(tmp_path / f"{gap}")
    assert result.objective == pytest.approx(best.objective, rel=1e-4)


@pytest.mark.parametrize("first", [True, False])
def test_presolve_may_infer_more_or_less_than_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """The saved inference is kept, what is new is added, and the certificate holds."""
    for infers in (first, not first):
        with monkeypatch.context() as patch:
            if not infers:
                patch.setattr(infer, "_MAX_CLIQUES", 0)
            result = run(tmp_path / "saved", nodes=4 if infers is first else None)
            assert (result.size < 24) == infers
    assert result.status is SolveStatus.OPTIMAL
    assert [step.kind for step in result.search_tree.steps[0]].count("merge") == 1
    result.save(tmp_path / "out", report=False)
    verify(tmp_path / "out")


def test_bounds_are_recomputed_and_infeasible_nodes_evaluated_again(tmp_path: Path) -> None:
    """The bounds in the file play no role; without time to prove them again nothing counts, and nothing is lost."""
    result = run(tmp_path)
    saved = CheckpointStore(tmp_path, make_instance()).load()
    assert saved is not None
    presolved = presolve(make_instance())
    for node in list(saved.tree.nodes):
        saved.tree.mark(node.number, node.status, math.inf)
    again = prove_tree(saved.tree, presolved, result.objective * (1 - 1e-4), Deadline())
    assert again.root_lower_bound == pytest.approx(result.root_lower_bound)
    for node, before in zip(again.tree.nodes, result.tree, strict=True):
        if before.status is TreeStatus.PRUNED:
            assert node.lower_bound == pytest.approx(before.lower_bound, rel=1e-12)
    assert all(node.status is not TreeStatus.INFEASIBLE for node in again.tree.nodes)
    late = Deadline()
    late.request_stop()
    unproven = prove_tree(saved.tree, presolved, result.objective, late)
    assert {node.lower_bound for node in unproven.tree.nodes} == {0.0}
    assert {node.status for node in unproven.tree.nodes} <= {TreeStatus.BRANCHED, TreeStatus.OPEN}
    assert len(unproven.tree.argument(0)) == len(saved.tree.argument(0))


def test_a_complete_search_is_proven_again_without_new_nodes(tmp_path: Path) -> None:
    """All that a second run does is to check."""
    first = run(tmp_path)
    second = run(tmp_path)
    assert second.status is SolveStatus.OPTIMAL
    assert second.nodes == first.nodes
    assert second.lower_bound == pytest.approx(first.lower_bound, rel=1e-12)


def test_a_step_that_proves_less_than_an_ancestors_does_not_replace_it(tmp_path: Path) -> None:
    """Elsewhere, rounding may make a child's bound come out below its parent's: then the parent's step is kept."""
    run(tmp_path, nodes=4)
    saved = CheckpointStore(tmp_path, make_instance()).load()
    assert saved is not None
    presolved = presolve(make_instance())

    def proves_less_below_the_root(_: object, decisions: tuple[object, ...], __: object) -> float:
        return 1.0 / (1 + len(decisions))

    again = prove_tree(saved.tree, presolved, math.inf, Deadline(), proves_less_below_the_root)
    assert {node.lower_bound for node in again.tree.nodes} == {1.0}
    assert {again.tree.nearest_bounded(node.number) for node in again.tree.nodes} == {0}


def forge_root(folder: Path, content: Callable[[dict[str, Any]], None], arrays: dict[str, Any] | None = None) -> None:
    """Leave only the root of a saved search, with a relaxation of these arrays, change it, and sign it again."""
    path = folder / "checkpoint.json"
    record = json.loads(path.read_bytes())
    search = json.loads(record["search"])
    search["nodes"], search["steps"], search["labels"] = search["nodes"][:1], {}, None
    if arrays is not None:
        np.savez(folder / "proofs" / f"0-{'0' * 16}.npz", **arrays)
        scale = make_instance().scaled.scale
        step = {"kind": "relaxation", "unit": scale.unit, "weight_unit": scale.weight_unit}
        search["steps"]["0"] = {"plain": [step], "arrays": "0" * 16}
    content(search)
    text = json.dumps(search)
    path.write_text(json.dumps({**record, "search": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}))
    (folder / "checkpoint.previous.json").unlink(missing_ok=True)


def test_a_root_that_was_given_a_decision_is_no_search(tmp_path: Path) -> None:
    """Otherwise what is optimal among the clusterings that keep the decision would be called optimal."""
    run(tmp_path, nodes=1)

    def decide(search: dict[str, Any]) -> None:
        search["nodes"][0][2:4] = [[12, 13, True], "open"]

    forge_root(tmp_path, decide)
    with pytest.raises(InputError, match="damaged"):
        run(tmp_path)


@pytest.mark.parametrize(
    ("members", "coefficients", "multiplier"),
    [([23, 22, 21, 20], [1, 1, 1, 1], 1e6), ([20, 20, 20, 21], [1, 1, 1, -1], 1e6), ([20], [2], -1e6)],
)
def test_cuts_that_no_search_writes_prove_nothing(
    tmp_path: Path, members: list[int], coefficients: list[int], multiplier: float
) -> None:
    """A clique cut in falling order lost its left side, and raised the bound to anything one likes."""
    best = run(None)
    run(tmp_path, nodes=1)
    arrays = {
        "s0_groups": np.arange(24),
        "s0_cut_start": np.array([0, len(members)]),
        "s0_cut_member": np.array(members, np.int32),
        "s0_cut_coefficient": np.array(coefficients, np.int8),
        "s0_cut_multiplier": np.array([multiplier]),
        "s0_slack": np.zeros(300, np.float32),
    }

    def prune(search: dict[str, Any]) -> None:
        search["nodes"][0][3] = "pruned"

    forge_root(tmp_path, prune, arrays)
    result = run(tmp_path)
    assert result.status is SolveStatus.OPTIMAL
    assert result.lower_bound <= best.objective
    assert result.objective <= best.objective * (1 + 1e-4)
    result.save(tmp_path / "out", report=False)
    verify(tmp_path / "out", 1e-4)

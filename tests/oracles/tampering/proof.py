"""Steps of the proof: missing, wrong, out of place, or without a reason."""
# ruff: noqa: ARG001 - every tampering takes both parts, whichever it changes

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracles.tampering.common import (
    Arrays,
    Content,
    NotApplicableError,
    leaf_of_labels,
    need,
    object_of,
    prefixes,
    step_of,
    tampering,
    without,
)


@tampering
def drop_the_last_entry(content: Content, arrays: Arrays) -> None:
    need(len(content["proof"]) > 1)
    last = len(content["proof"]) - 1
    content["proof"].pop()
    for name in [name for name in arrays if name.startswith(f"e{last}s")]:
        del arrays[name]


@tampering
def empty_the_weakest_entries(content: Content, arrays: Arrays) -> None:
    need(content["lower_bound"] > 0)
    without(content, arrays, {"relaxation", "covariance", "infeasible"})


@tampering
def swap_together_and_apart(content: Content, arrays: Arrays) -> None:
    for branch in [step for entry in content["proof"] for step in entry if step["kind"] == "branch"]:
        i, j = branch["pair"]
        for s, step in enumerate(content["proof"][branch["together"]]):
            if step["kind"] == "relaxation":
                groups = arrays[f"e{branch['together']}s{s}_groups"]
                if groups[i] == groups[j]:
                    branch["together"], branch["apart"] = branch["apart"], branch["together"]
                    return
    raise NotApplicableError


@tampering
def branch_on_one_point(content: Content, arrays: Arrays) -> None:
    branch = object_of(content, "branch")
    branch["pair"] = [branch["pair"][0]] * 2


@tampering
def branch_on_no_point(content: Content, arrays: Arrays) -> None:
    object_of(content, "branch")["pair"][1] = content["n"]


@tampering
def branch_on_three_points(content: Content, arrays: Arrays) -> None:
    object_of(content, "branch")["pair"].append(0)


@tampering
def branch_on_a_boolean(content: Content, arrays: Arrays) -> None:
    object_of(content, "branch")["pair"] = [True, 0]


@tampering
def entry_of_two_branches(content: Content, arrays: Arrays) -> None:
    branch = object_of(content, "branch")
    branch["together"] = branch["apart"]


@tampering
def entry_of_both_sides_of_a_branch(content: Content, arrays: Arrays) -> None:
    """All entries are reached, and what they prove holds anywhere: only that one is reached twice is wrong."""
    proof, last = content["proof"], len(content["proof"]) - 1
    branches = [step for entry in proof for step in entry if step["kind"] == "branch"]
    branch = next((step for step in branches if last in {step["together"], step["apart"]}), None)
    need(branch is not None and content["geometry"] == "points")
    assert branch is not None
    other = branch["apart"] if branch["together"] == last else branch["together"]
    need(not any(step["kind"] == "branch" for step in (*proof[last], *proof[other])))
    for name in [name for name in arrays if name.startswith((f"e{last}s", f"e{other}s"))]:
        del arrays[name]
    branch["together"] = branch["apart"] = other
    proof[other] = [{"kind": "covariance"}]
    proof.pop()
    content["lower_bound"] = 0.0


@tampering
def entry_of_no_branch(content: Content, arrays: Arrays) -> None:
    content["proof"].append([{"kind": "infeasible"}])


@tampering
def entry_before_its_branch(content: Content, arrays: Arrays) -> None:
    object_of(content, "branch")["together"] = 0


@tampering
def entry_beyond_the_proof(content: Content, arrays: Arrays) -> None:
    object_of(content, "branch")["apart"] = len(content["proof"])


@tampering
def entry_missing_in_a_branch(content: Content, arrays: Arrays) -> None:
    del object_of(content, "branch")["apart"]


@tampering
def branch_that_is_not_last(content: Content, arrays: Arrays) -> None:
    e, _ = step_of(content, "branch")
    content["proof"][e].append({"kind": "covariance"})


@tampering
def branch_twice(content: Content, arrays: Arrays) -> None:
    e, s = step_of(content, "branch")
    content["proof"][e].append(dict(content["proof"][e][s]))


@tampering
def unknown_kind(content: Content, arrays: Arrays) -> None:
    content["proof"][0].insert(0, {"kind": "trust me"})


@tampering
def kind_missing(content: Content, arrays: Arrays) -> None:
    content["proof"][-1].append({})


@tampering
def kind_not_text(content: Content, arrays: Arrays) -> None:
    content["proof"][-1].append({"kind": ["covariance"]})


@tampering
def step_that_is_a_word(content: Content, arrays: Arrays) -> None:
    content["proof"][-1].append("covariance")


@tampering
def entry_that_is_an_object(content: Content, arrays: Arrays) -> None:
    content["proof"][-1] = {"kind": "infeasible"}


@tampering
def proof_without_entries(content: Content, arrays: Arrays) -> None:
    content["proof"] = []


@tampering
def relaxation_called_covariance(content: Content, arrays: Arrays) -> None:
    object_of(content, "relaxation")["kind"] = "covariance"


@tampering
def covariance_called_relaxation(content: Content, arrays: Arrays) -> None:
    object_of(content, "covariance")["kind"] = "relaxation"


@tampering
def merge_called_infeasible(content: Content, arrays: Arrays) -> None:
    object_of(content, "merge")["kind"] = "infeasible"


@tampering
def covariance_in_place_of_everything(content: Content, arrays: Arrays) -> None:
    need(content["lower_bound"] > 0.999 * content["objective"] > 0 and prefixes(content, "branch"))
    content["proof"] = [[{"kind": "covariance"}]]
    for name in [name for name in arrays if name.startswith("e")]:
        del arrays[name]


@tampering
def covariance_after_a_merge_without_reason(content: Content, arrays: Arrays) -> None:
    other = np.flatnonzero(arrays["labels"] != arrays["labels"][0])
    need(other.size and content["k"] > 1)
    for name in [name for name in arrays if name.startswith("e")]:
        del arrays[name]
    content["proof"] = [[{"kind": "merge"}, {"kind": "covariance"}]]
    row = [0, int(other[0])] + [int(other[-1])] * (content["k"] - 1)
    arrays["e0s0_rows"] = np.array([row], dtype=np.int64)
    content["lower_bound"] = 0.0


@tampering
def claim_the_best_entry_infeasible(content: Content, arrays: Arrays) -> None:
    leaf_of_labels(content, arrays).append({"kind": "infeasible"})


@tampering
def claim_infeasibility_at_the_root(content: Content, arrays: Arrays) -> None:
    content["proof"][0].insert(0, {"kind": "infeasible"})


@tampering
def drop_the_reason_of_infeasibility(content: Content, arrays: Arrays) -> None:
    need(content["lower_bound"] > 0)
    step_of(content, "infeasible")
    without(content, arrays, {"infeasible", "covariance"})


def _first_merge(content: Content, arrays: Arrays, rows: Any) -> None:
    """Put a merge before everything else."""
    moved = {name: arrays.pop(name) for name in list(arrays) if name.startswith("e0s")}
    for name, values in moved.items():
        step, _, rest = name.removeprefix("e0s").partition("_")
        arrays[f"e0s{int(step) + 1}_{rest}"] = values
    content["proof"][0].insert(0, {"kind": "merge"})
    arrays["e0s0_rows"] = np.array(rows, dtype=np.int64)


@tampering
def merge_without_reason(content: Content, arrays: Arrays) -> None:
    labels = arrays["labels"]
    other = np.flatnonzero(labels != labels[0])
    need(other.size)
    _first_merge(content, arrays, [[0, int(other[0])] + [int(other[-1])] * (content["k"] - 1)])


@tampering
def merge_with_a_wrong_clique(content: Content, arrays: Arrays) -> None:
    merges = prefixes(content, "merge")
    need(merges and content["k"] > 1)
    arrays[f"{merges[0]}rows"][0, 2:] = arrays[f"{merges[0]}rows"][0, 0]


@tampering
def merge_without_rows(content: Content, arrays: Arrays) -> None:
    content["proof"][0].insert(0, {"kind": "merge"})


@tampering
def merges_with_a_column_too_few(content: Content, arrays: Arrays) -> None:
    _first_merge(content, arrays, np.zeros((1, content["k"])))


@tampering
def merge_of_no_point(content: Content, arrays: Arrays) -> None:
    _first_merge(content, arrays, np.full((1, content["k"] + 1), -1))


@tampering
def more_merges_than_points(content: Content, arrays: Arrays) -> None:
    _first_merge(content, arrays, np.zeros((content["n"] + 600, content["k"] + 1)))

"""Ways to falsify a certificate. A checker has to reject each of them.

Every entry of ``TAMPERINGS`` takes the JSON object and the arrays of a certificate that proves something about a
clustering, and changes them in place; it raises ``NotApplicableError`` if this certificate has nothing to falsify in
that way. Those in ``NEED_DATA`` make a consistent certificate of another problem: only a comparison with the original
data finds them. ``FILE_TAMPERINGS`` damage the files themselves.
"""
# ruff: noqa: ARG001 - every tampering takes both parts, whichever it changes

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracles.certificates import fingerprint

Content = dict[str, Any]
Arrays = dict[str, Any]
Tampering = Callable[[Content, Arrays], None]

TAMPERINGS: dict[str, Tampering] = {}
NEED_DATA = {"drop_a_cannot_link_and_forge_the_fingerprint", "drop_a_must_link_and_forge_the_fingerprint"}
FILE_TAMPERINGS: dict[str, Callable[[Path], None]] = {}


class NotApplicableError(Exception):
    """The certificate has nothing of that kind."""


def _tampering(function: Tampering) -> Tampering:
    TAMPERINGS[function.__name__] = function
    return function


def _forged(name: str, function: Tampering) -> None:
    def forge(content: Content, arrays: Arrays) -> None:
        function(content, arrays)
        content["fingerprint"] = fingerprint(content, arrays)

    TAMPERINGS[name] = forge


def _need(condition: Any) -> None:
    if not condition:
        raise NotApplicableError


def _proof(content: Content, arrays: Arrays, *, with_cuts: bool = False) -> str:
    """Return the beginning of the names of some proof's arrays."""
    for number, node in enumerate(content["nodes"]):
        if node["proof"] and (not with_cuts or len(arrays[f"node{number}_cut_member"]) > 0):
            return f"node{number}_"
    raise NotApplicableError


def _leaf_of_labels(content: Content, arrays: Arrays) -> int:
    """Follow the clustering down the tree."""
    labels, nodes, here = arrays["labels"], content["nodes"], 0
    while True:
        children = [number for number, node in enumerate(nodes) if node["parent"] == here]
        if not children:
            return here
        i, j, _ = nodes[children[0]]["decision"]
        here = next(c for c in children if nodes[c]["decision"][2] == bool(labels[i] == labels[j]))


# The tree


@_tampering
def drop_a_leaf(content: Content, arrays: Arrays) -> None:
    content["nodes"].pop()


@_tampering
def flip_a_decision(content: Content, arrays: Arrays) -> None:
    _need(len(content["nodes"]) > 1)
    decision = content["nodes"][-1]["decision"]
    decision[2] = not decision[2]


@_tampering
def separate_other_points(content: Content, arrays: Arrays) -> None:
    _need(len(content["nodes"]) > 1 and content["n"] > 2)
    decision = content["nodes"][-1]["decision"]
    decision[0] = next(i for i in range(content["n"]) if i not in decision[:2])


@_tampering
def second_root(content: Content, arrays: Arrays) -> None:
    content["nodes"].append({"parent": None, "decision": None, "infeasible": False, "proof": False})


@_tampering
def third_child(content: Content, arrays: Arrays) -> None:
    _need(len(content["nodes"]) > 1)
    content["nodes"].append({**content["nodes"][-1], "proof": False})


@_tampering
def own_parent(content: Content, arrays: Arrays) -> None:
    content["nodes"].append(
        {"parent": len(content["nodes"]), "decision": [0, 1, True], "infeasible": False, "proof": False}
    )


@_tampering
def parent_after_child(content: Content, arrays: Arrays) -> None:
    _need(len(content["nodes"]) > 2)
    content["nodes"][1]["parent"] = 2


@_tampering
def root_with_parent(content: Content, arrays: Arrays) -> None:
    content["nodes"][0]["parent"] = 0


@_tampering
def decision_on_no_point(content: Content, arrays: Arrays) -> None:
    _need(len(content["nodes"]) > 1)
    for node in content["nodes"][1:]:
        node["decision"][1] = content["n"]


@_tampering
def decision_with_a_number_as_verdict(content: Content, arrays: Arrays) -> None:
    _need(len(content["nodes"]) > 1)
    content["nodes"][-1]["decision"][2] = int(content["nodes"][-1]["decision"][2])


@_tampering
def claim_the_best_leaf_infeasible(content: Content, arrays: Arrays) -> None:
    content["nodes"][_leaf_of_labels(content, arrays)]["infeasible"] = True


@_tampering
def claim_infeasibility_without_saying_so(content: Content, arrays: Arrays) -> None:
    infeasible = [node for node in content["nodes"] if node["infeasible"]]
    _need(infeasible)
    infeasible[0]["infeasible"] = False
    _need(content["lower_bound"] > 0)


# The claims


@_tampering
def raise_the_bound(content: Content, arrays: Arrays) -> None:
    _need(content["lower_bound"] < content["objective"])
    content["lower_bound"] = content["objective"]


@_tampering
def raise_the_bound_above_the_cost(content: Content, arrays: Arrays) -> None:
    content["lower_bound"] = 1.001 * content["objective"] + 1.0


@_tampering
def bound_is_not_a_number(content: Content, arrays: Arrays) -> None:
    content["lower_bound"] = "0.0"


@_tampering
def lower_the_objective(content: Content, arrays: Arrays) -> None:
    _need(content["objective"] > 0)
    content["objective"] *= 1 - 1e-6
    content["lower_bound"] *= 1 - 1e-6


@_tampering
def raise_the_objective(content: Content, arrays: Arrays) -> None:
    _need(content["objective"] > 0)
    content["objective"] *= 1 + 1e-6


@_tampering
def change_a_label(content: Content, arrays: Arrays) -> None:
    _need(content["k"] > 1 and content["objective"] > 0)
    arrays["labels"][0] = (arrays["labels"][0] + 1) % content["k"]


@_tampering
def label_out_of_range(content: Content, arrays: Arrays) -> None:
    arrays["labels"][0] = content["k"]


@_tampering
def all_in_one_cluster(content: Content, arrays: Arrays) -> None:
    _need(content["k"] > 1)
    arrays["labels"][:] = 0


@_tampering
def drop_the_labels(content: Content, arrays: Arrays) -> None:
    del arrays["labels"]


# The instance


def change_a_point(content: Content, arrays: Arrays) -> None:
    arrays["points"][0, 0] += 1 + np.ptp(arrays["points"])


def change_a_weight(content: Content, arrays: Arrays) -> None:
    arrays["weights"][:] *= 1.5


def change_k(content: Content, arrays: Arrays) -> None:
    content["k"] += 1


def drop_a_cannot_link(content: Content, arrays: Arrays) -> None:
    _need(len(arrays["cannot_link"]))
    arrays["cannot_link"] = arrays["cannot_link"][:-1]


def drop_a_must_link(content: Content, arrays: Arrays) -> None:
    _need(len(arrays["must_link"]))
    arrays["must_link"] = arrays["must_link"][:-1]


for _change in (change_a_point, change_a_weight, change_k, drop_a_cannot_link, drop_a_must_link):
    TAMPERINGS[_change.__name__] = _change
    _forged(f"{_change.__name__}_and_forge_the_fingerprint", _change)


def _violated_must_link(content: Content, arrays: Arrays) -> None:
    other = np.flatnonzero(arrays["labels"] != arrays["labels"][0])
    _need(other.size)
    pairs = {(0, int(other[0])), *map(tuple, arrays["must_link"].tolist())}
    arrays["must_link"] = np.array(sorted(pairs), dtype=np.int64)


def _pairs_out_of_range(content: Content, arrays: Arrays) -> None:
    arrays["cannot_link"] = np.array([[0, content["n"]]], dtype=np.int64)


def _pair_reversed(content: Content, arrays: Arrays) -> None:
    arrays["must_link"] = np.array([[1, 0]], dtype=np.int64)


def _point_not_finite(content: Content, arrays: Arrays) -> None:
    arrays["points"][0, 0] = np.nan


def _weight_of_zero(content: Content, arrays: Arrays) -> None:
    arrays["weights"][0] = 0.0


_forged("add_a_violated_must_link", _violated_must_link)
_forged("pairs_out_of_range", _pairs_out_of_range)
_forged("pair_with_the_larger_number_first", _pair_reversed)
_forged("point_not_finite", _point_not_finite)
_forged("weight_of_zero", _weight_of_zero)


@_tampering
def change_the_fingerprint(content: Content, arrays: Arrays) -> None:
    content["fingerprint"] = content["fingerprint"][::-1]


@_tampering
def points_in_single_precision(content: Content, arrays: Arrays) -> None:
    arrays["points"] = arrays["points"].astype(np.float32)


@_tampering
def points_without_a_column(content: Content, arrays: Arrays) -> None:
    arrays["points"] = arrays["points"][:, 1:]


@_tampering
def other_format_version(content: Content, arrays: Arrays) -> None:
    content["format_version"] = 2


@_tampering
def other_format(content: Content, arrays: Arrays) -> None:
    content["format"] = "certificate of deposit"


# Inference steps


@_tampering
def merge_without_reason(content: Content, arrays: Arrays) -> None:
    labels = arrays["labels"]
    other = np.flatnonzero(labels != labels[0])
    _need(other.size)
    row = [0, int(other[0])] + [int(other[-1])] * (content["k"] - 1)
    before = arrays.get("node0_merges", np.empty((0, content["k"] + 1), dtype=np.int64))
    arrays["node0_merges"] = np.vstack([before, row]).astype(np.int64)


@_tampering
def merge_with_a_wrong_clique(content: Content, arrays: Arrays) -> None:
    merges = [name for name in arrays if name.endswith("_merges")]
    _need(merges and content["k"] > 1)
    arrays[merges[0]][0, 2:] = arrays[merges[0]][0, 0]


@_tampering
def merges_with_a_column_too_few(content: Content, arrays: Arrays) -> None:
    arrays["node0_merges"] = np.zeros((1, content["k"]), dtype=np.int64)


@_tampering
def merge_of_no_point(content: Content, arrays: Arrays) -> None:
    arrays["node0_merges"] = np.full((1, content["k"] + 1), -1, dtype=np.int64)


# Multipliers


@_tampering
def super_point_across_groups(content: Content, arrays: Arrays) -> None:
    name = f"{_proof(content, arrays)}groups"
    groups, labels = arrays[name], arrays["labels"]
    for i in np.flatnonzero(np.bincount(groups)[groups] > 1):
        for j in np.flatnonzero((groups != groups[i]) & (labels != labels[i])):
            groups[i], groups[j] = groups[j], groups[i]
            return
    raise NotApplicableError


@_tampering
def group_out_of_range(content: Content, arrays: Arrays) -> None:
    arrays[f"{_proof(content, arrays)}groups"][0] = -1


@_tampering
def group_without_points(content: Content, arrays: Arrays) -> None:
    arrays[f"{_proof(content, arrays)}groups"] += 1


@_tampering
def negative_slack(content: Content, arrays: Arrays) -> None:
    arrays[f"{_proof(content, arrays)}slack"][0] = -1e-3  # the diagonal is never forbidden


@_tampering
def infinite_slack(content: Content, arrays: Arrays) -> None:
    arrays[f"{_proof(content, arrays)}slack"][0] = np.inf


@_tampering
def larger_slack(content: Content, arrays: Arrays) -> None:
    _need(content["lower_bound"] > 0)
    for number, node in enumerate(content["nodes"]):
        if node["proof"]:
            arrays[f"node{number}_slack"] += 1


@_tampering
def slack_of_another_size(content: Content, arrays: Arrays) -> None:
    name = f"{_proof(content, arrays)}slack"
    arrays[name] = arrays[name][:-1]


@_tampering
def slack_in_double_precision(content: Content, arrays: Arrays) -> None:
    name = f"{_proof(content, arrays)}slack"
    arrays[name] = arrays[name].astype(np.float64)


@_tampering
def slack_missing(content: Content, arrays: Arrays) -> None:
    del arrays[f"{_proof(content, arrays)}slack"]


@_tampering
def proof_without_arrays(content: Content, arrays: Arrays) -> None:
    prefix = _proof(content, arrays)
    for name in [name for name in arrays if name.startswith(prefix)]:
        del arrays[name]


@_tampering
def no_proofs(content: Content, arrays: Arrays) -> None:
    _need(content["lower_bound"] > 0)
    for node in content["nodes"]:
        node["proof"] = False


@_tampering
def negative_multiplier(content: Content, arrays: Arrays) -> None:
    arrays[f"{_proof(content, arrays, with_cuts=True)}cut_multiplier"][0] = -1e-3


@_tampering
def multiplier_not_a_number(content: Content, arrays: Arrays) -> None:
    arrays[f"{_proof(content, arrays, with_cuts=True)}cut_multiplier"][0] = np.nan


@_tampering
def multiplier_too_few(content: Content, arrays: Arrays) -> None:
    name = f"{_proof(content, arrays, with_cuts=True)}cut_multiplier"
    arrays[name] = arrays[name][1:]


@_tampering
def coefficients_not_integers(content: Content, arrays: Arrays) -> None:
    name = f"{_proof(content, arrays, with_cuts=True)}cut_coefficient"
    arrays[name] = 0.5 * arrays[name].astype(np.float32)


@_tampering
def coefficient_of_zero(content: Content, arrays: Arrays) -> None:
    arrays[f"{_proof(content, arrays, with_cuts=True)}cut_coefficient"][0] = 0


@_tampering
def member_out_of_range(content: Content, arrays: Arrays) -> None:
    prefix = _proof(content, arrays, with_cuts=True)
    arrays[f"{prefix}cut_member"][0] = arrays[f"{prefix}groups"].max() + 1


@_tampering
def member_twice_in_a_cut(content: Content, arrays: Arrays) -> None:
    prefix = _proof(content, arrays, with_cuts=True)
    start, members = arrays[f"{prefix}cut_start"], arrays[f"{prefix}cut_member"]
    long = np.flatnonzero(np.diff(start) > 1)
    _need(long.size)
    members[start[long[0]]] = members[start[long[0]] + 1]


@_tampering
def cut_start_beyond_the_entries(content: Content, arrays: Arrays) -> None:
    arrays[f"{_proof(content, arrays, with_cuts=True)}cut_start"][-1] += 1


@_tampering
def cut_start_going_back(content: Content, arrays: Arrays) -> None:
    name = f"{_proof(content, arrays, with_cuts=True)}cut_start"
    _need(len(arrays[name]) > 2)
    arrays[name][1] = arrays[name][-1] + 1


# The files


def _file_tampering(function: Callable[[Path], None]) -> Callable[[Path], None]:
    FILE_TAMPERINGS[function.__name__] = function
    return function


@_file_tampering
def truncated_npz(folder: Path) -> None:
    path = folder / "certificate.npz"
    path.write_bytes(path.read_bytes()[:-100])


@_file_tampering
def damaged_npz(folder: Path) -> None:
    path = folder / "certificate.npz"
    content = bytearray(path.read_bytes())
    content[content.index(b"points.npy") + 30] ^= 1  # within the first array
    path.write_bytes(bytes(content))


@_file_tampering
def empty_npz(folder: Path) -> None:
    (folder / "certificate.npz").write_bytes(b"")


@_file_tampering
def missing_npz(folder: Path) -> None:
    (folder / "certificate.npz").unlink()


@_file_tampering
def pickled_array(folder: Path) -> None:
    path = folder / "certificate.npz"
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["weights"] = arrays["weights"].astype(object)
    np.savez(path, allow_pickle=True, **arrays)


@_file_tampering
def header_that_promises_too_much(folder: Path) -> None:
    path = folder / "certificate.npz"
    content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    content["n"] = 2**30
    (folder / "certificate.json").write_text(json.dumps(content), encoding="utf-8")
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (2**30, content["d"])}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("points.npy", stream.getvalue())


@_file_tampering
def truncated_json(folder: Path) -> None:
    path = folder / "certificate.json"
    path.write_bytes(path.read_bytes().rstrip()[:-1])


@_file_tampering
def json_with_nan(folder: Path) -> None:
    path = folder / "certificate.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "lower_bound": float("nan")}), encoding="utf-8")


@_file_tampering
def json_with_a_number_too_large(folder: Path) -> None:
    path = folder / "certificate.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "lower_bound": 0}).replace('"lower_bound": 0', '"lower_bound": -1e999'))


@_file_tampering
def json_is_a_list(folder: Path) -> None:
    (folder / "certificate.json").write_text("[]", encoding="utf-8")

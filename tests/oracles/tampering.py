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
import os
import sys
import warnings
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


def _step(content: Content, kind: str) -> tuple[int, int]:
    """Return the place of the first step of a kind."""
    for e, steps in enumerate(content["proof"]):
        for s, step in enumerate(steps):
            if step["kind"] == kind:
                return e, s
    raise NotApplicableError


def _object(content: Content, kind: str) -> dict[str, Any]:
    e, s = _step(content, kind)
    step: dict[str, Any] = content["proof"][e][s]
    return step


def _proof(content: Content, arrays: Arrays, *, with_cuts: bool = False) -> str:
    """Return the beginning of the names of some relaxation's arrays."""
    for prefix in _prefixes(content, "relaxation"):
        if not with_cuts or len(arrays[f"{prefix}cut_member"]) > 0:
            return prefix
    raise NotApplicableError


def _prefixes(content: Content, kind: str) -> list[str]:
    steps = [(e, s, step) for e, steps in enumerate(content["proof"]) for s, step in enumerate(steps)]
    return [f"e{e}s{s}_" for e, s, step in steps if step["kind"] == kind]


def _without(content: Content, arrays: Arrays, kinds: set[str]) -> None:
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


def _leaf_of_labels(content: Content, arrays: Arrays) -> list[dict[str, Any]]:
    """Follow the clustering down the proof; return the steps of the entry where it ends."""
    labels, here = arrays["labels"], 0
    while content["proof"][here] and content["proof"][here][-1]["kind"] == "branch":
        step = content["proof"][here][-1]
        i, j = step["pair"]
        here = step["together" if labels[i] == labels[j] else "apart"]
    steps: list[dict[str, Any]] = content["proof"][here]
    return steps


# The proof


@_tampering
def drop_the_last_entry(content: Content, arrays: Arrays) -> None:
    _need(len(content["proof"]) > 1)
    last = len(content["proof"]) - 1
    content["proof"].pop()
    for name in [name for name in arrays if name.startswith(f"e{last}s")]:
        del arrays[name]


@_tampering
def empty_the_weakest_entries(content: Content, arrays: Arrays) -> None:
    _need(content["lower_bound"] > 0)
    _without(content, arrays, {"relaxation", "covariance", "infeasible"})


@_tampering
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


@_tampering
def branch_on_one_point(content: Content, arrays: Arrays) -> None:
    branch = _object(content, "branch")
    branch["pair"] = [branch["pair"][0]] * 2


@_tampering
def branch_on_no_point(content: Content, arrays: Arrays) -> None:
    _object(content, "branch")["pair"][1] = content["n"]


@_tampering
def branch_on_three_points(content: Content, arrays: Arrays) -> None:
    _object(content, "branch")["pair"].append(0)


@_tampering
def branch_on_a_boolean(content: Content, arrays: Arrays) -> None:
    _object(content, "branch")["pair"] = [True, 0]


@_tampering
def entry_of_two_branches(content: Content, arrays: Arrays) -> None:
    branch = _object(content, "branch")
    branch["together"] = branch["apart"]


@_tampering
def entry_of_no_branch(content: Content, arrays: Arrays) -> None:
    content["proof"].append([{"kind": "infeasible"}])


@_tampering
def entry_before_its_branch(content: Content, arrays: Arrays) -> None:
    _object(content, "branch")["together"] = 0


@_tampering
def entry_beyond_the_proof(content: Content, arrays: Arrays) -> None:
    _object(content, "branch")["apart"] = len(content["proof"])


@_tampering
def entry_missing_in_a_branch(content: Content, arrays: Arrays) -> None:
    del _object(content, "branch")["apart"]


@_tampering
def branch_that_is_not_last(content: Content, arrays: Arrays) -> None:
    e, _ = _step(content, "branch")
    content["proof"][e].append({"kind": "covariance"})


@_tampering
def branch_twice(content: Content, arrays: Arrays) -> None:
    e, s = _step(content, "branch")
    content["proof"][e].append(dict(content["proof"][e][s]))


@_tampering
def unknown_kind(content: Content, arrays: Arrays) -> None:
    content["proof"][0].insert(0, {"kind": "trust me"})


@_tampering
def kind_missing(content: Content, arrays: Arrays) -> None:
    content["proof"][-1].append({})


@_tampering
def kind_not_text(content: Content, arrays: Arrays) -> None:
    content["proof"][-1].append({"kind": ["covariance"]})


@_tampering
def step_that_is_a_word(content: Content, arrays: Arrays) -> None:
    content["proof"][-1].append("covariance")


@_tampering
def entry_that_is_an_object(content: Content, arrays: Arrays) -> None:
    content["proof"][-1] = {"kind": "infeasible"}


@_tampering
def proof_without_entries(content: Content, arrays: Arrays) -> None:
    content["proof"] = []


@_tampering
def relaxation_called_covariance(content: Content, arrays: Arrays) -> None:
    _object(content, "relaxation")["kind"] = "covariance"


@_tampering
def covariance_called_relaxation(content: Content, arrays: Arrays) -> None:
    _object(content, "covariance")["kind"] = "relaxation"


@_tampering
def merge_called_infeasible(content: Content, arrays: Arrays) -> None:
    _object(content, "merge")["kind"] = "infeasible"


@_tampering
def covariance_in_place_of_everything(content: Content, arrays: Arrays) -> None:
    _need(content["lower_bound"] > 0.999 * content["objective"] > 0 and _prefixes(content, "branch"))
    content["proof"] = [[{"kind": "covariance"}]]
    for name in [name for name in arrays if name.startswith("e")]:
        del arrays[name]


@_tampering
def covariance_after_a_merge_without_reason(content: Content, arrays: Arrays) -> None:
    other = np.flatnonzero(arrays["labels"] != arrays["labels"][0])
    _need(other.size and content["k"] > 1)
    for name in [name for name in arrays if name.startswith("e")]:
        del arrays[name]
    content["proof"] = [[{"kind": "merge"}, {"kind": "covariance"}]]
    row = [0, int(other[0])] + [int(other[-1])] * (content["k"] - 1)
    arrays["e0s0_rows"] = np.array([row], dtype=np.int64)
    content["lower_bound"] = 0.0


@_tampering
def claim_the_best_entry_infeasible(content: Content, arrays: Arrays) -> None:
    _leaf_of_labels(content, arrays).append({"kind": "infeasible"})


@_tampering
def claim_infeasibility_at_the_root(content: Content, arrays: Arrays) -> None:
    content["proof"][0].insert(0, {"kind": "infeasible"})


@_tampering
def drop_the_reason_of_infeasibility(content: Content, arrays: Arrays) -> None:
    _need(content["lower_bound"] > 0)
    _step(content, "infeasible")
    _without(content, arrays, {"infeasible", "covariance"})


# Units


def _change_unit(key: str, factor: float) -> Tampering:
    def change(content: Content, arrays: Arrays) -> None:
        _need(content["lower_bound"] > 0.999 * content["objective"] > 0)
        steps = [step for entry in content["proof"] for step in entry if step["kind"] == "relaxation"]
        _need(steps)
        for step in steps:
            step[key] *= factor
        if key == "weight_unit":
            cuts = [arrays[f"{prefix}cut_coefficient"] for prefix in _prefixes(content, "relaxation")]
            _need(any((np.abs(b.astype(int)) > 1).any() or (b < 0).any() for b in cuts))

    return change


TAMPERINGS["larger_unit"] = _change_unit("unit", 1e6)
TAMPERINGS["larger_weight_unit"] = _change_unit("weight_unit", 1e6)


@_tampering
def unit_of_zero(content: Content, arrays: Arrays) -> None:
    _object(content, "relaxation")["unit"] = 0.0


@_tampering
def negative_unit(content: Content, arrays: Arrays) -> None:
    _object(content, "relaxation")["unit"] *= -1.0


@_tampering
def weight_unit_missing(content: Content, arrays: Arrays) -> None:
    del _object(content, "relaxation")["weight_unit"]


@_tampering
def unit_not_a_number(content: Content, arrays: Arrays) -> None:
    _object(content, "relaxation")["unit"] = "1"


# The claims


@_tampering
def raise_the_bound(content: Content, arrays: Arrays) -> None:
    _need(content["lower_bound"] < content["objective"])
    content["lower_bound"] = content["objective"]


@_tampering
def raise_the_bound_above_the_cost(content: Content, arrays: Arrays) -> None:
    content["lower_bound"] = content["objective"] + 0.001 * abs(content["objective"]) + 1.0


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
    content["objective"] *= 1 + 2e-6


@_tampering
def objective_just_below_the_exact_cost(content: Content, arrays: Arrays) -> None:
    _need(content["objective"] != 0)
    content["objective"] = np.nextafter(content["objective"], -np.inf).item()
    content["lower_bound"] = min(content["lower_bound"], content["objective"])


@_tampering
def objective_of_zero(content: Content, arrays: Arrays) -> None:
    _need(content["objective"] > 0)
    content["objective"] = content["lower_bound"] = 0.0


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
    points = arrays[content["geometry"]]
    points[0, 0] += 1 + np.ptp(points)


def change_a_weight(content: Content, arrays: Arrays) -> None:
    arrays["weights"][:] *= 1.5


def change_k(content: Content, arrays: Arrays) -> None:
    content["k"] += 1


def flip_standardize(content: Content, arrays: Arrays) -> None:
    _need(content["geometry"] == "points")
    content["standardize"] = not content["standardize"]


def call_points_a_gram_matrix(content: Content, arrays: Arrays) -> None:
    _need(content["geometry"] == "points")
    content.update(geometry="gram", d=None, standardize=False)
    points = arrays.pop("points")
    arrays["gram"] = points @ points.T * 2


def drop_a_cannot_link(content: Content, arrays: Arrays) -> None:
    _need(len(arrays["cannot_link"]))
    arrays["cannot_link"] = arrays["cannot_link"][:-1]


def drop_a_must_link(content: Content, arrays: Arrays) -> None:
    _need(len(arrays["must_link"]))
    arrays["must_link"] = arrays["must_link"][:-1]


for _change in (
    change_a_point, change_a_weight, change_k, flip_standardize, call_points_a_gram_matrix, drop_a_cannot_link,
    drop_a_must_link,
):  # fmt: skip
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
    arrays[content["geometry"]][0, 0] = np.nan


def _gram_asymmetric(content: Content, arrays: Arrays) -> None:
    _need(content["geometry"] == "gram" and content["n"] > 1)
    arrays["gram"][0, 1] = np.nextafter(arrays["gram"][0, 1], np.inf)


def _gram_with_features(content: Content, arrays: Arrays) -> None:
    _need(content["geometry"] == "gram")
    content["d"] = content["n"]


def _gram_standardized(content: Content, arrays: Arrays) -> None:
    _need(content["geometry"] == "gram")
    content["standardize"] = True


def _other_geometry(content: Content, arrays: Arrays) -> None:
    content["geometry"] = "hyperbolic"


def _standardize_as_a_number(content: Content, arrays: Arrays) -> None:
    content["standardize"] = int(content["standardize"])


def _weight_of_zero(content: Content, arrays: Arrays) -> None:
    arrays["weights"][0] = 0.0


_forged("add_a_violated_must_link", _violated_must_link)
_forged("pairs_out_of_range", _pairs_out_of_range)
_forged("pair_with_the_larger_number_first", _pair_reversed)
_forged("point_not_finite", _point_not_finite)
_forged("weight_of_zero", _weight_of_zero)
_forged("gram_asymmetric", _gram_asymmetric)
_forged("gram_with_features", _gram_with_features)
_forged("gram_standardized", _gram_standardized)
TAMPERINGS["other_geometry"] = _other_geometry
TAMPERINGS["standardize_as_a_number"] = _standardize_as_a_number


@_tampering
def change_the_fingerprint(content: Content, arrays: Arrays) -> None:
    content["fingerprint"] = content["fingerprint"][::-1]


@_tampering
def points_in_single_precision(content: Content, arrays: Arrays) -> None:
    name = "gram" if content["geometry"] == "gram" else "points"
    arrays[name] = arrays[name].astype(np.float32)


@_tampering
def points_without_a_column(content: Content, arrays: Arrays) -> None:
    name = "gram" if content["geometry"] == "gram" else "points"
    arrays[name] = arrays[name][:, 1:]


@_tampering
def other_format_version(content: Content, arrays: Arrays) -> None:
    content["format_version"] = 1


@_tampering
def other_format(content: Content, arrays: Arrays) -> None:
    content["format"] = "certificate of deposit"


@_tampering
def array_that_nothing_uses(content: Content, arrays: Arrays) -> None:
    arrays["e99s0_rows"] = np.zeros((1, content["k"] + 1), dtype=np.int64)


# Inference steps


def _first_merge(content: Content, arrays: Arrays, rows: Any) -> None:
    """Put a merge before everything else."""
    moved = {name: arrays.pop(name) for name in list(arrays) if name.startswith("e0s")}
    for name, values in moved.items():
        step, _, rest = name.removeprefix("e0s").partition("_")
        arrays[f"e0s{int(step) + 1}_{rest}"] = values
    content["proof"][0].insert(0, {"kind": "merge"})
    arrays["e0s0_rows"] = np.array(rows, dtype=np.int64)


@_tampering
def merge_without_reason(content: Content, arrays: Arrays) -> None:
    labels = arrays["labels"]
    other = np.flatnonzero(labels != labels[0])
    _need(other.size)
    _first_merge(content, arrays, [[0, int(other[0])] + [int(other[-1])] * (content["k"] - 1)])


@_tampering
def merge_with_a_wrong_clique(content: Content, arrays: Arrays) -> None:
    merges = _prefixes(content, "merge")
    _need(merges and content["k"] > 1)
    arrays[f"{merges[0]}rows"][0, 2:] = arrays[f"{merges[0]}rows"][0, 0]


@_tampering
def merge_without_rows(content: Content, arrays: Arrays) -> None:
    content["proof"][0].insert(0, {"kind": "merge"})


@_tampering
def merges_with_a_column_too_few(content: Content, arrays: Arrays) -> None:
    _first_merge(content, arrays, np.zeros((1, content["k"])))


@_tampering
def merge_of_no_point(content: Content, arrays: Arrays) -> None:
    _first_merge(content, arrays, np.full((1, content["k"] + 1), -1))


@_tampering
def more_merges_than_points(content: Content, arrays: Arrays) -> None:
    _first_merge(content, arrays, np.zeros((content["n"] + 600, content["k"] + 1)))


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
    _without(content, arrays, {"covariance"})
    for prefix in _prefixes(content, "relaxation"):
        arrays[f"{prefix}slack"] += 1


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
def relaxation_without_arrays(content: Content, arrays: Arrays) -> None:
    prefix = _proof(content, arrays)
    for name in [name for name in arrays if name.startswith(prefix)]:
        del arrays[name]


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


def _file_tampering_with_links(function: Callable[[Path], None]) -> Callable[[Path], None]:
    """Register it where there are pipes, devices and links: not on Windows."""
    return function if sys.platform == "win32" else _file_tampering(function)


@_file_tampering
def truncated_npz(folder: Path) -> None:
    path = folder / "certificate.npz"
    path.write_bytes(path.read_bytes()[:-100])


@_file_tampering
def damaged_npz(folder: Path) -> None:
    path = folder / "certificate.npz"
    content = bytearray(path.read_bytes())
    content[content.index(b"weights.npy") + 60] ^= 1  # within the array
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
        stream, {"descr": "<f8", "fortran_order": False, "shape": (2**30, content["d"] or 2**30)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{content['geometry']}.npy", stream.getvalue())


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


@_file_tampering
def json_nested_too_deep(folder: Path) -> None:
    (folder / "certificate.json").write_text("[" * 100_000 + "]" * 100_000, encoding="utf-8")


@_file_tampering
def json_with_a_huge_integer(folder: Path) -> None:
    path = folder / "certificate.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "n": 0}).replace('"n": 0', f'"n": {"9" * 100_000}'), encoding="utf-8")


@_file_tampering
def json_with_a_key_twice(folder: Path) -> None:
    path = folder / "certificate.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("{", '{"lower_bound": 0.0, ', 1), encoding="utf-8")


@_file_tampering
def json_in_another_encoding(folder: Path) -> None:
    (folder / "certificate.json").write_bytes("{}".encode("utf-16"))


@_file_tampering_with_links
def json_is_a_pipe(folder: Path) -> None:
    (folder / "certificate.json").unlink()
    os.mkfifo(folder / "certificate.json")


@_file_tampering_with_links
def npz_is_a_pipe(folder: Path) -> None:
    (folder / "certificate.npz").unlink()
    os.mkfifo(folder / "certificate.npz")


@_file_tampering_with_links
def npz_is_a_device(folder: Path) -> None:
    (folder / "certificate.npz").unlink()
    (folder / "certificate.npz").symlink_to("/dev/zero")


@_file_tampering
def json_is_a_folder(folder: Path) -> None:
    (folder / "certificate.json").unlink()
    (folder / "certificate.json").mkdir()


@_file_tampering_with_links
def json_is_a_link_to_itself(folder: Path) -> None:
    (folder / "certificate.json").unlink()
    (folder / "certificate.json").symlink_to("certificate.json")


def _rewritten(folder: Path, name: str, content: bytes, **options: Any) -> None:
    """Replace one file of the archive."""
    path = folder / "certificate.npz"
    with zipfile.ZipFile(path) as archive:
        others = {entry: archive.read(entry) for entry in archive.namelist() if entry != name}
    with zipfile.ZipFile(path, "w") as archive:
        for entry, data in others.items():
            archive.writestr(entry, data)
        archive.writestr(name, content, **options)


def _weights(folder: Path) -> bytes:
    with zipfile.ZipFile(folder / "certificate.npz") as archive:
        return archive.read("weights.npy")


@_file_tampering
def array_that_expands_to_much_more(folder: Path) -> None:
    content = _weights(folder) + bytes(50_000_000)
    _rewritten(folder, "weights.npy", content, compress_type=zipfile.ZIP_DEFLATED)


@_file_tampering
def pairs_that_expand_to_much_more(folder: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.zeros((3_000_000, 2), dtype=np.int64))
    _rewritten(folder, "must_link.npy", stream.getvalue(), compress_type=zipfile.ZIP_DEFLATED)


@_file_tampering
def size_in_the_directory_is_a_lie(folder: Path) -> None:
    """Let the directory of the archive say that 4 GB are there."""
    path = folder / "certificate.npz"
    content = bytearray(path.read_bytes())
    central = content.rindex(b"weights.npy") - 46
    content[central + 24 : central + 28] = b"\xfe\xff\xff\xff"
    path.write_bytes(bytes(content))


@_file_tampering
def compressed_by_lzma(folder: Path) -> None:
    _rewritten(folder, "weights.npy", _weights(folder), compress_type=zipfile.ZIP_LZMA)


@_file_tampering
def compressed_by_bzip2(folder: Path) -> None:
    _rewritten(folder, "weights.npy", _weights(folder), compress_type=zipfile.ZIP_BZIP2)


@_file_tampering
def damaged_deflate_stream(folder: Path) -> None:
    _rewritten(folder, "weights.npy", _weights(folder) + bytes(500), compress_type=zipfile.ZIP_DEFLATED)
    path = folder / "certificate.npz"
    content = bytearray(path.read_bytes())
    start = content.index(b"weights.npy") + 14
    content[start : start + 20] = bytes([0xFF] * 20)
    path.write_bytes(bytes(content))


@_file_tampering
def array_twice(folder: Path) -> None:
    with warnings.catch_warnings(), zipfile.ZipFile(folder / "certificate.npz", "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("weights.npy", archive.read("weights.npy"))


def _with_header(header: bytes) -> Callable[[Path], None]:
    def replace(folder: Path) -> None:
        content = _weights(folder)
        data = content[10 + int.from_bytes(content[8:10], "little") :]
        _rewritten(folder, "weights.npy", content[:8] + len(header).to_bytes(2, "little") + header + data)

    return replace


for _name, _header in {
    "is_empty": b"",
    "is_a_number": b"7",
    "is_a_call": b"__import__('os').getcwd()",
    "has_no_shape": b"{'descr': '<f8', 'fortran_order': False}",
    "has_a_negative_shape": b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
    "has_a_shape_of_text": b"{'descr': '<f8', 'fortran_order': False, 'shape': 'x'}",
    "has_a_huge_shape": b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 3000 + b",)}",
    "has_fields": b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
    "has_objects": b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
    "is_nested_too_deep": b"(" * 3500,
    "is_another_endianness": b"{'descr': '>f8', 'fortran_order': False, 'shape': (1,)}",
}.items():
    FILE_TAMPERINGS[f"npy_header_{_name}"] = _with_header(_header)

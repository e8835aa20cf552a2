"""Relaxations: units, multipliers and cuts that do not prove what they claim."""
# ruff: noqa: ARG001 - every tampering takes both parts, whichever it changes

from __future__ import annotations

import numpy as np

from tests.oracles.tampering.common import (
    TAMPERINGS,
    Arrays,
    Content,
    NotApplicableError,
    Tampering,
    need,
    object_of,
    prefixes,
    proof_of,
    tampering,
    without,
)


def _change_unit(key: str, factor: float) -> Tampering:
    def change(content: Content, arrays: Arrays) -> None:
        need(content["lower_bound"] > 0.999 * content["objective"] > 0)
        steps = [step for entry in content["proof"] for step in entry if step["kind"] == "relaxation"]
        need(steps)
        for step in steps:
            step[key] *= factor
        if key == "weight_unit":
            cuts = [arrays[f"{prefix}cut_coefficient"] for prefix in prefixes(content, "relaxation")]
            need(any((np.abs(b.astype(int)) > 1).any() or (b < 0).any() for b in cuts))

    return change


TAMPERINGS["larger_unit"] = _change_unit("unit", 1e6)
TAMPERINGS["larger_weight_unit"] = _change_unit("weight_unit", 1e6)


@tampering
def unit_of_zero(content: Content, arrays: Arrays) -> None:
    object_of(content, "relaxation")["unit"] = 0.0


@tampering
def negative_unit(content: Content, arrays: Arrays) -> None:
    object_of(content, "relaxation")["unit"] *= -1.0


@tampering
def weight_unit_missing(content: Content, arrays: Arrays) -> None:
    del object_of(content, "relaxation")["weight_unit"]


@tampering
def unit_not_a_number(content: Content, arrays: Arrays) -> None:
    object_of(content, "relaxation")["unit"] = "1"


@tampering
def super_point_across_groups(content: Content, arrays: Arrays) -> None:
    name = f"{proof_of(content, arrays)}groups"
    groups, labels = arrays[name], arrays["labels"]
    for i in np.flatnonzero(np.bincount(groups)[groups] > 1):
        for j in np.flatnonzero((groups != groups[i]) & (labels != labels[i])):
            groups[i], groups[j] = groups[j], groups[i]
            return
    raise NotApplicableError


@tampering
def group_out_of_range(content: Content, arrays: Arrays) -> None:
    arrays[f"{proof_of(content, arrays)}groups"][0] = -1


@tampering
def group_without_points(content: Content, arrays: Arrays) -> None:
    arrays[f"{proof_of(content, arrays)}groups"] += 1


@tampering
def negative_slack(content: Content, arrays: Arrays) -> None:
    arrays[f"{proof_of(content, arrays)}slack"][0] = -1e-3  # the diagonal is never forbidden


@tampering
def infinite_slack(content: Content, arrays: Arrays) -> None:
    arrays[f"{proof_of(content, arrays)}slack"][0] = np.inf


@tampering
def larger_slack(content: Content, arrays: Arrays) -> None:
    need(content["lower_bound"] > 0)
    without(content, arrays, {"covariance"})
    for prefix in prefixes(content, "relaxation"):
        arrays[f"{prefix}slack"] += 1


@tampering
def slack_of_another_size(content: Content, arrays: Arrays) -> None:
    name = f"{proof_of(content, arrays)}slack"
    arrays[name] = arrays[name][:-1]


@tampering
def slack_in_double_precision(content: Content, arrays: Arrays) -> None:
    name = f"{proof_of(content, arrays)}slack"
    arrays[name] = arrays[name].astype(np.float64)


@tampering
def slack_missing(content: Content, arrays: Arrays) -> None:
    del arrays[f"{proof_of(content, arrays)}slack"]


@tampering
def relaxation_without_arrays(content: Content, arrays: Arrays) -> None:
    prefix = proof_of(content, arrays)
    for name in [name for name in arrays if name.startswith(prefix)]:
        del arrays[name]


@tampering
def negative_multiplier(content: Content, arrays: Arrays) -> None:
    arrays[f"{proof_of(content, arrays, with_cuts=True)}cut_multiplier"][0] = -1e-3


@tampering
def multiplier_not_a_number(content: Content, arrays: Arrays) -> None:
    arrays[f"{proof_of(content, arrays, with_cuts=True)}cut_multiplier"][0] = np.nan


@tampering
def multiplier_too_few(content: Content, arrays: Arrays) -> None:
    name = f"{proof_of(content, arrays, with_cuts=True)}cut_multiplier"
    arrays[name] = arrays[name][1:]


@tampering
def coefficients_not_integers(content: Content, arrays: Arrays) -> None:
    name = f"{proof_of(content, arrays, with_cuts=True)}cut_coefficient"
    arrays[name] = 0.5 * arrays[name].astype(np.float32)


@tampering
def coefficient_of_zero(content: Content, arrays: Arrays) -> None:
    arrays[f"{proof_of(content, arrays, with_cuts=True)}cut_coefficient"][0] = 0


@tampering
def member_out_of_range(content: Content, arrays: Arrays) -> None:
    prefix = proof_of(content, arrays, with_cuts=True)
    arrays[f"{prefix}cut_member"][0] = arrays[f"{prefix}groups"].max() + 1


@tampering
def member_twice_in_a_cut(content: Content, arrays: Arrays) -> None:
    prefix = proof_of(content, arrays, with_cuts=True)
    start, members = arrays[f"{prefix}cut_start"], arrays[f"{prefix}cut_member"]
    long = np.flatnonzero(np.diff(start) > 1)
    need(long.size)
    members[start[long[0]]] = members[start[long[0]] + 1]


@tampering
def cut_start_beyond_the_entries(content: Content, arrays: Arrays) -> None:
    arrays[f"{proof_of(content, arrays, with_cuts=True)}cut_start"][-1] += 1


@tampering
def cut_start_going_back(content: Content, arrays: Arrays) -> None:
    name = f"{proof_of(content, arrays, with_cuts=True)}cut_start"
    need(len(arrays[name]) > 2)
    arrays[name][1] = arrays[name][-1] + 1

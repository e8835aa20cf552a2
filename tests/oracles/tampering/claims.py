"""What is claimed, and about which problem."""
# ruff: noqa: ARG001 - every tampering takes both parts, whichever it changes

from __future__ import annotations

import numpy as np

from tests.oracles.tampering.common import (
    TAMPERINGS,
    Arrays,
    Content,
    forged,
    need,
    tampering,
)


@tampering
def raise_the_bound(content: Content, arrays: Arrays) -> None:
    need(content["lower_bound"] < content["objective"])
    content["lower_bound"] = content["objective"]


@tampering
def raise_the_bound_above_the_cost(content: Content, arrays: Arrays) -> None:
    content["lower_bound"] = content["objective"] + 0.001 * abs(content["objective"]) + 1.0


@tampering
def bound_is_not_a_number(content: Content, arrays: Arrays) -> None:
    content["lower_bound"] = "0.0"


@tampering
def lower_the_objective(content: Content, arrays: Arrays) -> None:
    need(content["objective"] > 0)
    content["objective"] *= 1 - 1e-6
    content["lower_bound"] *= 1 - 1e-6


@tampering
def raise_the_objective(content: Content, arrays: Arrays) -> None:
    need(content["objective"] > 0)
    content["objective"] *= 1 + 2e-6


@tampering
def objective_just_below_the_exact_cost(content: Content, arrays: Arrays) -> None:
    # Costs of Gram matrices are rounded up several times: there the next float may be true, too.
    need(content["objective"] != 0 and content["geometry"] != "gram")
    content["objective"] = np.nextafter(content["objective"], -np.inf).item()
    content["lower_bound"] = min(content["lower_bound"], content["objective"])


@tampering
def objective_of_zero(content: Content, arrays: Arrays) -> None:
    need(content["objective"] > 0)
    content["objective"] = content["lower_bound"] = 0.0


@tampering
def change_a_label(content: Content, arrays: Arrays) -> None:
    need(content["k"] > 1 and content["objective"] > 0)
    arrays["labels"][0] = (arrays["labels"][0] + 1) % content["k"]


@tampering
def label_out_of_range(content: Content, arrays: Arrays) -> None:
    arrays["labels"][0] = content["k"]


@tampering
def all_in_one_cluster(content: Content, arrays: Arrays) -> None:
    need(content["k"] > 1)
    arrays["labels"][:] = 0


@tampering
def drop_the_labels(content: Content, arrays: Arrays) -> None:
    del arrays["labels"]


def change_a_point(content: Content, arrays: Arrays) -> None:
    points = arrays[content["geometry"]]
    points[0, 0] += 1 + np.ptp(points)


def change_a_weight(content: Content, arrays: Arrays) -> None:
    arrays["weights"][:] *= 1.5


def change_k(content: Content, arrays: Arrays) -> None:
    content["k"] += 1


def flip_standardize(content: Content, arrays: Arrays) -> None:
    need(content["geometry"] == "points")
    content["standardize"] = not content["standardize"]


def call_points_a_gram_matrix(content: Content, arrays: Arrays) -> None:
    need(content["geometry"] == "points")
    content.update(geometry="gram", d=None, standardize=False)
    points = arrays.pop("points")
    arrays["gram"] = points @ points.T * 2


def drop_a_cannot_link(content: Content, arrays: Arrays) -> None:
    need(len(arrays["cannot_link"]))
    arrays["cannot_link"] = arrays["cannot_link"][:-1]


def drop_a_must_link(content: Content, arrays: Arrays) -> None:
    need(len(arrays["must_link"]))
    arrays["must_link"] = arrays["must_link"][:-1]


for _change in (
    change_a_point, change_a_weight, change_k, flip_standardize, call_points_a_gram_matrix, drop_a_cannot_link,
    drop_a_must_link,
):  # fmt: skip
    TAMPERINGS[_change.__name__] = _change
    forged(f"{_change.__name__}_and_forge_the_fingerprint", _change)


def _violated_must_link(content: Content, arrays: Arrays) -> None:
    other = np.flatnonzero(arrays["labels"] != arrays["labels"][0])
    need(other.size)
    pairs = {(0, int(other[0])), *map(tuple, arrays["must_link"].tolist())}
    arrays["must_link"] = np.array(sorted(pairs), dtype=np.int64)


def _pairs_out_of_range(content: Content, arrays: Arrays) -> None:
    arrays["cannot_link"] = np.array([[0, content["n"]]], dtype=np.int64)


def _pair_reversed(content: Content, arrays: Arrays) -> None:
    arrays["must_link"] = np.array([[1, 0]], dtype=np.int64)


def _point_not_finite(content: Content, arrays: Arrays) -> None:
    arrays[content["geometry"]][0, 0] = np.nan


def _gram_asymmetric(content: Content, arrays: Arrays) -> None:
    need(content["geometry"] == "gram" and content["n"] > 1)
    arrays["gram"][0, 1] = np.nextafter(arrays["gram"][0, 1], np.inf)


def _gram_with_features(content: Content, arrays: Arrays) -> None:
    need(content["geometry"] == "gram")
    content["d"] = content["n"]


def _gram_standardized(content: Content, arrays: Arrays) -> None:
    need(content["geometry"] == "gram")
    content["standardize"] = True


def _other_geometry(content: Content, arrays: Arrays) -> None:
    content["geometry"] = "hyperbolic"


def _standardize_as_a_number(content: Content, arrays: Arrays) -> None:
    content["standardize"] = int(content["standardize"])


def _weight_of_zero(content: Content, arrays: Arrays) -> None:
    arrays["weights"][0] = 0.0


forged("add_a_violated_must_link", _violated_must_link)
forged("pairs_out_of_range", _pairs_out_of_range)
forged("pair_with_the_larger_number_first", _pair_reversed)
forged("point_not_finite", _point_not_finite)
forged("weight_of_zero", _weight_of_zero)
forged("gram_asymmetric", _gram_asymmetric)
forged("gram_with_features", _gram_with_features)
forged("gram_standardized", _gram_standardized)
TAMPERINGS["other_geometry"] = _other_geometry
TAMPERINGS["standardize_as_a_number"] = _standardize_as_a_number


@tampering
def change_the_fingerprint(content: Content, arrays: Arrays) -> None:
    content["fingerprint"] = content["fingerprint"][::-1]


@tampering
def points_in_single_precision(content: Content, arrays: Arrays) -> None:
    name = "gram" if content["geometry"] == "gram" else "points"
    arrays[name] = arrays[name].astype(np.float32)


@tampering
def points_without_a_column(content: Content, arrays: Arrays) -> None:
    name = "gram" if content["geometry"] == "gram" else "points"
    arrays[name] = arrays[name][:, 1:]


@tampering
def other_format_version(content: Content, arrays: Arrays) -> None:
    content["format_version"] = 1


@tampering
def other_format(content: Content, arrays: Arrays) -> None:
    content["format"] = "certificate of deposit"


@tampering
def array_that_nothing_uses(content: Content, arrays: Arrays) -> None:
    arrays["e99s0_rows"] = np.zeros((1, content["k"] + 1), dtype=np.int64)

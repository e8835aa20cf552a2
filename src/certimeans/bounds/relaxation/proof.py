"""Between the relaxation's multipliers and the step that stores them."""

from __future__ import annotations

from typing import Any

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.cuts.pool import MAX_SUPPORT, Cuts
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.safe_bound import SafeBound, safe_lower_bound
from certimeans.presolve.contract import SuperPoints
from certimeans.proof.steps import BlockStep, RelaxationStep


def pack(points: SuperPoints, cuts: Cuts, bound: SafeBound, anchors: tuple[int, ...] = ()) -> RelaxationStep:
    """Keep what a bound was proven from, in the precision in which certificates store it."""
    return RelaxationStep(
        group_of=points.group_of,
        **arrays_of_cuts(cuts.with_multipliers(bound.multipliers).purged()),
        slack=bound.slack[np.triu_indices(points.size)],
        unit=points.scale.unit,
        weight_unit=points.scale.weight_unit,
        size_multiplier=bound.size_multipliers,
        anchors=anchors,
    )


def arrays_of_cuts(cuts: Cuts) -> dict[str, Any]:
    """Return cuts with their multipliers as steps hold them."""
    used = cuts.members >= 0
    return {
        "cut_start": np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64),
        "cut_member": cuts.members[used],
        "cut_coefficient": cuts.coefficients[used],
        "cut_multiplier": cuts.multipliers,
    }


def cuts_of(step: RelaxationStep, size: int) -> Cuts:
    """Return the cuts of a step with their multipliers, after checking that they, and the slack, are such.

    Raises
    ------
    ValueError
        If the step is none that this package writes for so many super-points.
    """
    if step.slack.shape != (size * (size + 1) // 2,):
        raise ValueError("multipliers that do not belong to these super-points")
    return cuts_of_arrays(step, size)


def cuts_of_arrays(step: RelaxationStep | BlockStep, size: int) -> Cuts:
    """Return the cuts of a step with their multipliers, after checking that they are such.

    Raises
    ------
    ValueError
        If they are no cuts of so many super-points.
    """
    counts, members = np.diff(step.cut_start), step.cut_member
    is_well_formed = (
        counts.ndim == 1
        and step.cut_multiplier.shape == counts.shape
        and members.shape == step.cut_coefficient.shape == (int(counts.sum()),)
        and (counts.size == 0 or 0 < counts.min() <= counts.max() <= MAX_SUPPORT)
        and (members.size == 0 or 0 <= members.min() <= members.max() < size)
    )
    if not is_well_formed:
        raise ValueError("multipliers that do not belong to these super-points")
    cuts = _unpacked(step, counts)
    # Rows of cuts are built for members that grow: a member twice, or what stands below the diagonal, would make an
    # inequality that does not hold.
    grows = (cuts.members[:, 1:] > cuts.members[:, :-1]) | (cuts.members[:, 1:] < 0)
    if not (grows.all() and (cuts.coefficients[cuts.members >= 0] != 0).all() and (cuts.multipliers >= 0).all()):
        raise ValueError("cuts whose members are not in order, or without coefficient, or with a negative multiplier")
    return cuts


def _unpacked(step: RelaxationStep | BlockStep, counts: IntArray) -> Cuts:
    used = np.arange(MAX_SUPPORT) < counts[:, None]
    members = np.full(used.shape, -1, dtype=np.int32)
    coefficients = np.zeros(used.shape, dtype=np.int8)
    members[used], coefficients[used] = step.cut_member, step.cut_coefficient
    return Cuts(members, coefficients, step.cut_multiplier)


def size_multipliers_of(step: RelaxationStep, relaxation: Relaxation) -> FloatArray | None:
    """Return the multipliers of limits on sizes, after checking that they belong to these super-points.

    Raises
    ------
    ValueError
        If they do not.
    """
    given = step.size_multiplier
    if step.anchors != (() if relaxation.size_rows is None else relaxation.size_rows.anchors):
        raise ValueError("anchors of limits on sizes that do not belong to these super-points")
    if (given is None) != (relaxation.size_rows is None):
        raise ValueError("multipliers of limits on sizes where there are none, or the other way round")
    if given is not None and not (given.shape == (relaxation.size, 2) and (given >= 0).all()):
        raise ValueError("multipliers of limits on sizes that do not belong to these super-points")
    return given


def dual_of(step: RelaxationStep, relaxation: Relaxation) -> FloatArray:
    """Return the weighted sum of cuts and limits less V; its upper triangle counts."""
    cuts = cuts_of(step, relaxation.size)
    rows = CutRows.build(cuts, relaxation)
    return _dual(step, rows, cuts.multipliers * rows.norms, relaxation)


def _dual(step: RelaxationStep, rows: CutRows, multipliers: FloatArray, relaxation: Relaxation) -> FloatArray:
    total, _, _ = rows.weighted_sum(multipliers)
    sizes = size_multipliers_of(step, relaxation)
    if relaxation.size_rows is not None and sizes is not None:
        total += relaxation.size_rows.weighted_sum(sizes)[0]
    total[np.triu_indices(relaxation.size)] -= step.slack
    return total


def prove_again(step: RelaxationStep, relaxation: Relaxation) -> SafeBound:
    """Prove the bound of a step for a relaxation on its super-points; whatever the step holds, the bound is true.

    Raises
    ------
    ValueError
        If a certificate with this step would not be well-formed.
    """
    cuts = cuts_of(step, relaxation.size)
    free = relaxation.forbidden[np.triu_indices(relaxation.size)]
    if relaxation.box is None and not ((step.slack >= 0) | free).all():
        raise ValueError("a negative slack where super-points may link")
    rows = CutRows.build(cuts, relaxation)
    multipliers = cuts.multipliers * rows.norms
    dual, sizes = _dual(step, rows, multipliers, relaxation), size_multipliers_of(step, relaxation)
    return safe_lower_bound(relaxation, rows, multipliers, dual, sizes)

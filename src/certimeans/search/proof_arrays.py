"""A node's proof as plain arrays, named as in docs/certificate.md: what checkpoints and certificates store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import IntArray
from certimeans.bounds.relaxation.cuts.pool import MAX_SUPPORT, Cuts
from certimeans.bounds.relaxation.proof import Proof
from certimeans.search.node import NodeProof

Arrays = dict[str, NDArray[Any]]


def to_arrays(proof: NodeProof | None, merges: IntArray | None) -> Arrays:
    """Take a proof and steps of inference apart; what is not there is left out."""
    arrays: Arrays = {} if merges is None else {"merges": merges.astype("<i8")}
    if proof is not None:
        cuts = proof.proof.cuts
        used = cuts.members >= 0
        arrays |= {
            "groups": proof.group_of.astype("<i8"),
            "cut_start": np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype("<i8"),
            "cut_member": cuts.members[used].astype("<i4"),
            "cut_coefficient": cuts.coefficients[used],
            "cut_multiplier": cuts.multipliers.astype("<f8"),
            "slack": proof.proof.slack.astype("<f4"),
        }
    return arrays


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> tuple[NodeProof | None, IntArray | None]:
    """Put together what :func:`to_arrays` took apart."""
    merges = arrays["merges"].astype(np.int64) if "merges" in arrays else None
    if "groups" not in arrays:
        return None, merges
    counts = np.diff(arrays["cut_start"])
    used = np.arange(MAX_SUPPORT) < counts[:, None]
    members = np.full(used.shape, -1, dtype=np.int32)
    coefficients = np.zeros(used.shape, dtype=np.int8)
    members[used], coefficients[used] = arrays["cut_member"], arrays["cut_coefficient"]
    cuts = Cuts(members, coefficients, arrays["cut_multiplier"].astype(np.float64))
    slack = arrays["slack"].astype(np.float32)
    return NodeProof(arrays["groups"].astype(np.int64), Proof(cuts, slack)), merges

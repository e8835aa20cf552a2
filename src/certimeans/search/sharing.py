"""What all processes of a machine see: the problem, and the cost of the best known clustering.

Both are files in a temporary folder. The problem is not handed to a process as it starts, since a process that is
killed just then would leave us waiting for it to read on; and Python's own shared memory is removed by the resource
trackers of workers that die.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray
from certimeans.presolve.contract import contract
from certimeans.presolve.reduce import Presolved
from certimeans.problem.constraints import Constraints
from certimeans.problem.instance import Geometry, Instance
from certimeans.problem.selection import Selection
from certimeans.problem.sizes import StatedSizes

_PROBLEM = "problem.npz"
_COST = "cost"


class Blackboard:
    """The coordinator's side."""

    def __init__(self, presolved: Presolved) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="certimeans-"))
        self._presolved = presolved
        self._cost = np.memmap(self.folder / _COST, dtype=np.float64, mode="w+", shape=(1,))
        self.set_cost(math.inf)

    def write_problem(self) -> None:
        """Write the problem for the others."""
        presolved, instance = self._presolved, self._presolved.instance
        known = {} if presolved.colouring is None else {"colouring": presolved.colouring}
        np.savez(
            self.folder / _PROBLEM,
            table=instance.table,
            geometry=np.array(instance.geometry),
            standardize=np.array(instance.standardize),
            weights=instance.weights,
            n_clusters=np.array(instance.n_clusters),
            must_link=instance.must_link,
            cannot_link=instance.cannot_link,
            group_of=presolved.super_points.group_of,
            merges=presolved.merges,
            n_groups=np.array([presolved.n_groups, presolved.n_identical]),
            **_variances_as_arrays(instance),  # type: ignore[arg-type]
            **_sizes_as_arrays(instance),  # type: ignore[arg-type]
            **known,  # type: ignore[arg-type]
        )

    def set_cost(self, cost: float) -> None:
        """Let everybody know; an aligned eight-byte write is never seen half done."""
        self._cost[0] = cost

    def cost(self) -> float:
        """Return the present cost."""
        return float(self._cost[0])

    def close(self) -> None:
        """Remove the files; who has mapped the cost keeps what it last said."""
        shutil.rmtree(self.folder, ignore_errors=True)


class BlackboardReader:
    """A worker's side."""

    def __init__(self, folder: Path) -> None:
        self._cost = np.memmap(folder / _COST, dtype=np.float64, mode="r", shape=(1,))
        with np.load(folder / _PROBLEM, allow_pickle=False) as arrays:
            variances = arrays.get("variances")
            own: dict[str, Any] = {} if variances is None else {"whole_variances": _variances_of_array(variances)}
            instance = (Instance if variances is None else Selection)(
                arrays["table"],
                int(arrays["n_clusters"]),
                Constraints(arrays["must_link"], arrays["cannot_link"], cluster_sizes=_sizes_of_arrays(arrays)),
                arrays["weights"],
                geometry=cast("Geometry", str(arrays["geometry"])),
                standardize=bool(arrays["standardize"]),
                **own,
            )
            super_points = contract(instance, arrays["group_of"])
            colouring = arrays.get("colouring")
            n_groups, n_identical = arrays["n_groups"].tolist()
            self.presolved = Presolved(instance, super_points, arrays["merges"], colouring, n_groups, n_identical)

    def cost(self) -> float:
        """Return the present cost."""
        return float(self._cost[0])


def _variances_as_arrays(instance: Instance) -> dict[str, NDArray[np.str_]]:
    """Return the variances of a selection, exactly, as hexadecimal fractions."""
    if not isinstance(instance, Selection):
        return {}
    numbers = [number for pair in instance.whole_variances or () for number in pair]
    return {"variances": np.array([f"{x.numerator:x}/{x.denominator:x}" for x in numbers], dtype=np.str_)}


def _variances_of_array(texts: NDArray[np.str_]) -> tuple[tuple[Fraction, Fraction], ...] | None:
    numbers = [Fraction(*(int(part, 16) for part in str(text).split("/"))) for text in texts]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True)) or None


_SIZES = ("size_min", "size_max", "sizes", "capacity")


def _sizes_as_arrays(instance: Instance) -> dict[str, FloatArray]:
    """Return what is stated about sizes; nothing for what is not."""
    stated = instance.constraints.cluster_sizes
    lists = (None,) * len(_SIZES) if stated is None else stated.as_lists()
    return {name: np.array(values) for name, values in zip(_SIZES, lists, strict=True) if values is not None}


def _sizes_of_arrays(arrays: Mapping[str, FloatArray]) -> StatedSizes | None:
    least, most, sizes, capacity = (arrays.get(name) for name in _SIZES)
    return StatedSizes.create(
        None if least is None else float(least[0]),
        None if most is None else float(most[0]),
        None if sizes is None else sizes.tolist(),
        capacity,
    )

"""One number that all processes of a machine see: the cost of the best known clustering."""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path

import numpy as np


class SharedCost:
    """The coordinator's side: a file of eight bytes, mapped into memory.

    A file, since Python's shared memory is removed under our feet by the resource trackers of workers that die.
    """

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="certimeans-")
        os.close(handle)
        self.path = Path(name)
        self._value = np.memmap(self.path, dtype=np.float64, mode="w+", shape=(1,))
        self.set(math.inf)

    def set(self, cost: float) -> None:
        """Let everybody know; an aligned eight-byte write is never seen half done."""
        self._value[0] = cost

    def get(self) -> float:
        """Return the present cost."""
        return float(self._value[0])

    def close(self) -> None:
        """Remove the file; who has mapped it keeps what it last said."""
        self.path.unlink(missing_ok=True)


class SharedCostReader:
    """A worker's side."""

    def __init__(self, path: Path) -> None:
        self._value = np.memmap(path, dtype=np.float64, mode="r", shape=(1,))

    def get(self) -> float:
        """Return the present cost."""
        return float(self._value[0])

"""The commands of the command line, one module per command: ``add`` describes the options, ``run`` does the work.

They import what they need when they run, so that ``certimeans --help`` answers at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # argparse has no public name


class ExitCode(IntEnum):
    """What the process tells the shell."""

    OK = 0
    STOPPED_AT_LIMIT = 1
    NOT_VERIFIED = 1  # an alias: either way the command worked, but not all is proven
    BAD_INPUT = 2
    INFEASIBLE = 3
    NO_SOLUTION = 4
    INTERNAL_ERROR = 5
    NOT_WRITTEN = 5  # an alias: solved, but the results are not where they were wanted
    BROKEN = 6  # a certificate that can be read, but is not well-formed
    INTERRUPTED = 130


Command = Callable[[argparse.Namespace], ExitCode]

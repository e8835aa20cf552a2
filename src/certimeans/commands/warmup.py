"""``certimeans warmup``: compile everything now, not at the first solve."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from certimeans.commands import ExitCode
from certimeans.commands.streams import print_output

if TYPE_CHECKING:
    from certimeans.commands import Commands


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "warmup",
        help="compile everything now, for container images and cluster workers",
        description=(
            "Compile all of the solver's loops now and keep the machine code, so that no later solve compiles: in a "
            "container image, or on a cluster worker. Machine code is kept in the folder that the environment variable "
            "CERTIMEANS_CACHE_DIR names, else in the user's cache folder. It is made for this kind of processor. Exit "
            "code 0: all is kept; 1: it compiles, but nothing can be kept."
        ),
        epilog="example: CERTIMEANS_CACHE_DIR=/opt/certimeans certimeans warmup",
    )
    parser.set_defaults(command=run)


def run(_: argparse.Namespace) -> ExitCode:
    """Compile, and say where the machine code is."""
    from certimeans.compilation.storage import folder, is_everything_kept, state_folder  # noqa: PLC0415
    from certimeans.warmup import prepare  # noqa: PLC0415

    began = time.perf_counter()
    is_new = prepare(tell=_say)
    seconds = time.perf_counter() - began
    if folder().path is None or not is_everything_kept():
        text, code = f"compiled in {seconds:.1f} s, but the machine code cannot be kept\n", ExitCode.STOPPED_AT_LIMIT
    else:
        done = f"compiled in {seconds:.1f} s" if is_new else "all was compiled before"
        text, code = f"{done}; the machine code is in {state_folder()}\n", ExitCode.OK
    return code if print_output(text) else ExitCode.NOT_WRITTEN


def _say(note: str) -> None:
    sys.stderr.write(f"note: {note}\n")
    sys.stderr.flush()

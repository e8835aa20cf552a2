"""``certimeans demo``: the bundled example."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans.commands import ExitCode

if TYPE_CHECKING:
    from certimeans.commands import Commands


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "demo",
        help="solve a bundled example, verify it and write the report",
        description="Solve Fisher's iris data with and without constraints, verify the certificate, write the report.",
        epilog="example: certimeans demo --out demo-result",
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="where to write (default certimeans-demo)")
    parser.add_argument("--overwrite", action="store_true", help="replace another result that is in that folder")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> ExitCode:
    """Run the example."""
    from certimeans.demo import run_demo  # noqa: PLC0415

    is_own_folder = options.out is None  # an earlier demo may be replaced
    run_demo(options.out or Path("certimeans-demo"), overwrite=options.overwrite or is_own_folder)
    return ExitCode.OK

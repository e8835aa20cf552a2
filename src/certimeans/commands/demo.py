"""``certimeans demo``: the bundled example."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from certimeans.commands import ExitCode

if TYPE_CHECKING:
    from certimeans.commands import Commands


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = commands.add_parser("demo", help="work through a bundled example", epilog="example: certimeans demo")
    parser.set_defaults(command=run)


def run(_: argparse.Namespace) -> ExitCode:
    """Run the example."""
    from certimeans.demo import run_demo  # noqa: PLC0415

    run_demo()
    return ExitCode.OK

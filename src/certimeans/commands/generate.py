"""``certimeans generate``: random constraints from class labels."""

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
        "generate",
        help="draw random constraints from class labels",
        description=(
            "Draw random must-links between points of one class and cannot-links between points of different "
            "classes, as in the paper's experiments."
        ),
        epilog="example: certimeans generate classes.txt --must-link 50 --cannot-link 50 --seed 1 -o constraints.txt",
    )
    parser.add_argument("labels", metavar="LABELS", type=Path, help="class of each point, one per line")
    parser.add_argument("--must-link", metavar="A", type=int, default=0, help="number of must-links (default 0)")
    parser.add_argument("--cannot-link", metavar="B", type=int, default=0, help="number of cannot-links (default 0)")
    parser.add_argument(
        "--sizes", action="store_true", help="state the sizes of the classes as exact sizes of the clusters, too (JSON)"
    )
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="random seed (default 0)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        required=True,
        help="file to write; .json and .csv choose those formats, anything else lines 'ML i j' and 'CL i j'",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> ExitCode:
    """Draw and write."""
    from certimeans.problem.generate import generate_constraints  # noqa: PLC0415
    from certimeans.problem.io.files import read_labels, write_constraints  # noqa: PLC0415

    constraints = generate_constraints(
        read_labels(options.labels), options.must_link, options.cannot_link, options.seed, sizes=options.sizes
    )
    write_constraints(options.output, constraints)
    return ExitCode.OK

"""The command line: parse, call, print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from enum import IntEnum
from pathlib import Path

from certimeans._version import __version__
from certimeans.errors import CertimeansError, InfeasibleError, InputError


class ExitCode(IntEnum):
    """What the process tells the shell."""

    OK = 0
    STOPPED_AT_LIMIT = 1
    BAD_INPUT = 2
    INFEASIBLE = 3
    NO_SOLUTION = 4
    INTERNAL_ERROR = 5
    INTERRUPTED = 130


Command = Callable[[argparse.Namespace], ExitCode]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors become one clear message and an exit code, never a traceback."""
    options = build_parser().parse_args(arguments)
    command: Command = options.command
    try:
        return command(options)
    except InputError as error:
        return _fail(error, ExitCode.BAD_INPUT)
    except InfeasibleError as error:
        return _fail(error, ExitCode.INFEASIBLE)
    except CertimeansError as error:
        return _fail(error, ExitCode.INTERNAL_ERROR)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def build_parser() -> argparse.ArgumentParser:
    """Describe all commands and their options."""
    parser = argparse.ArgumentParser(
        prog="certimeans",
        description="Provably optimal k-means clustering under must-link and cannot-link constraints.",
    )
    parser.add_argument("--version", action="version", version=f"certimeans {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_generate(commands)
    _add_demo(commands)
    return parser


def _add_generate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "generate",
        help="draw random constraints from class labels",
        description=(
            "Draw random must-links between points of one class and cannot-links between points of different "
            "classes, as in the paper's experiments."
        ),
        epilog="example: certimeans generate classes.txt --must-link 50 --cannot-link 50 --seed 1 -o constraints.txt",
    )
    parser.add_argument("labels", metavar="LABELS", type=Path, help="class of each point, one a line")
    parser.add_argument("--must-link", metavar="A", type=int, default=0, help="number of must-links (default 0)")
    parser.add_argument("--cannot-link", metavar="B", type=int, default=0, help="number of cannot-links (default 0)")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="random seed (default 0)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        required=True,
        help="file to write; .json and .csv choose those formats, anything else lines 'ML i j' and 'CL i j'",
    )
    parser.set_defaults(command=_generate)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("demo", help="work through a bundled example", epilog="example: certimeans demo")
    parser.set_defaults(command=_demo)


# The commands import what they need when they run, so that `certimeans --help` answers at once.


def _generate(options: argparse.Namespace) -> ExitCode:
    from certimeans.problem.files import read_labels, write_constraints  # noqa: PLC0415
    from certimeans.problem.generate import generate_constraints  # noqa: PLC0415

    constraints = generate_constraints(
        read_labels(options.labels), options.must_link, options.cannot_link, options.seed
    )
    write_constraints(options.output, constraints)
    return ExitCode.OK


def _demo(_: argparse.Namespace) -> ExitCode:
    from certimeans.demo import run  # noqa: PLC0415

    run()
    return ExitCode.OK


def _fail(error: Exception, code: ExitCode) -> ExitCode:
    sys.stderr.write(f"certimeans: {error}\n")
    return code

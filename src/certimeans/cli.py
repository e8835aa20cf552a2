"""The command line: parse, call, turn errors into messages and exit codes."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence

from certimeans._version import __version__
from certimeans.commands import Command, ExitCode, ask, bench, demo, explain, generate, solve, verify, warmup
from certimeans.commands.parsing import Parser, parse
from certimeans.commands.streams import usable_streams
from certimeans.errors import (
    ArgumentError,
    CertificateError,
    CertimeansError,
    InfeasibleError,
    InputError,
    MalformedCertificateError,
)
from certimeans.orphans import end_process_if_busy
from certimeans.printing import harmless

_OPTIONS = {
    "n_clusters": "-k",
    "gap": "--gap",
    "time_limit": "--time-limit",
    "max_nodes": "--max-nodes",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "part_size": "--part-size",
}
"""What Python's arguments are called here."""

_EXIT_CODES = (
    (InputError, ExitCode.BAD_INPUT),
    (InfeasibleError, ExitCode.INFEASIBLE),
    (MalformedCertificateError, ExitCode.BROKEN),
    (CertificateError, ExitCode.NOT_VERIFIED),
    (CertimeansError, ExitCode.INTERNAL_ERROR),
)
"""By error; the first that fits counts."""

_OBJECTS_BETWEEN_COLLECTIONS = 50_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors become one clear message and an exit code, never a traceback."""
    parser = build_parser()
    options = parse(parser, sys.argv[1:] if arguments is None else arguments)
    command: Command | None = options.command
    if command is None:
        parser.print_help()
        return ExitCode.OK
    if arguments is not None:  # called from Python
        with usable_streams():
            return _run(command, options)
    # A process of its own. Importing makes hundreds of thousands of objects that stay: looking for garbage among them
    # every few hundred, and once more at the end, takes a third of a second.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    with usable_streams():
        code = _run(command, options)
    gc.freeze()
    end_process_if_busy(code)
    return code


def _run(command: Command, options: argparse.Namespace) -> int:
    try:
        return command(options)
    except CertimeansError as error:
        return _fail(error, next(code for kind, code in _EXIT_CODES if isinstance(error, kind)))
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except (OSError, MemoryError) as error:  # a traceback would end with 1, as if a limit had been reached
        return _fail(error, ExitCode.INTERNAL_ERROR)


def build_parser() -> Parser:
    """Describe all commands and their options."""
    parser = Parser(
        prog="certimeans",
        description="Provably optimal k-means clustering under must-link and cannot-link constraints.",
        epilog=(
            "'certimeans COMMAND --help' lists the options of a command. Example: certimeans solve points.csv -k 3 "
            "--constraints pairs.txt --out result"
        ),
    )
    parser.add_argument("--version", action="version", version=f"certimeans {__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(metavar="COMMAND")
    for command in (solve, verify, explain, ask, generate, bench, demo, warmup):
        command.add(commands)
    for subparser in commands.choices.values():
        subparser.set_defaults(parser=subparser)
    return parser


def _fail(error: Exception, code: ExitCode) -> ExitCode:
    message = str(error)
    if isinstance(error, ArgumentError):
        problem = error.problem.replace("None or ", "").replace(", or None", "")  # options are left out instead
        problem = problem.replace("'auto' or None", "auto or none")
        message = f"{_OPTIONS.get(error.argument, f'--{error.argument}')} {problem}"
    elif isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        message = f"{where}{error.strerror or message or type(error).__name__}; the command could not go on"
    elif isinstance(error, MemoryError):
        message = " ".join(message.split())  # numpy's may have several lines
        message = f"not enough memory{message and f' ({message})'}; the command could not go on"
    sys.stderr.write(f"certimeans: {harmless(message)}\n")
    return code

"""``certimeans ask``: which pairs are worth a question, as a list or one after the other."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans.commands import ExitCode
from certimeans.commands.counter import Counter
from certimeans.commands.streams import print_output
from certimeans.errors import InputError
from certimeans.printing import harmless

if TYPE_CHECKING:
    from certimeans.ambiguity import AmbiguousPairs
    from certimeans.commands import Commands
    from certimeans.result import SolveResult


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "ask",
        help="find the pairs most worth asking about next",
        description=(
            "For a result that 'solve --out DIR' wrote: the pairs of points whose answer, together or apart, the data "
            "decide least, with proven intervals of what each answer would cost. Fill in the column 'type' of the file "
            "(y for together, n for apart, empty for unknown) and pass it to 'solve' with --constraints. With "
            "--interactive, answer one question after the other. The certificate is verified first. Exit code 0: done; "
            "1: the certificate does not prove its claim; 2: files that cannot be read; 5: what was found cannot be "
            "printed or written; 6: files that are not a certificate; 130: interrupted."
        ),
        epilog="example: certimeans ask out --count 10 --output questions.csv",
    )
    add = parser.add_argument
    add("folder", metavar="DIR", type=Path, help="a folder that 'certimeans solve --out' wrote")
    add("--count", metavar="N", type=int, default=10, help="how many pairs, at most (default 10)")
    add(
        "--decided",
        metavar="PERCENT",
        type=float,
        default=5.0,
        help="do not ask about pairs whose other answer is proven to cost more than this (default 5)",
    )
    add("--interactive", action="store_true", help="show pairs one by one, ask, and solve again after each answer")
    add("--output", metavar="FILE", type=Path, help="where to write (default questions.csv or answers.csv in DIR)")
    add("--gap", metavar="G", type=float, help="relative gap to which optima are enclosed (default: the result's)")
    add(
        "--time-limit",
        metavar="S",
        type=float,
        help="seconds to look for pairs, or for each question with --interactive (default: as for 'explain')",
    )
    add("--jobs", metavar="N", type=int, default=1, help="pairs at the same time, -1 for all cores (default 1)")
    add("--json", action="store_true", help="print one JSON object on standard output, and nothing else there")
    add("--quiet", action="store_true", help="no progress on standard error")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> ExitCode:
    """Load, look for pairs, and write them or ask about them."""
    from certimeans.analysis.saved import load_result  # noqa: PLC0415
    from certimeans.warmup import prepare  # noqa: PLC0415

    if options.interactive and options.json:
        raise InputError("--json prints one object; --interactive is a conversation: choose one of them")
    result = load_result(options.folder)
    prepare(result.instance)
    if options.interactive:
        from certimeans.commands.interview import Interview  # noqa: PLC0415

        output = options.output or options.folder / "answers.csv"
        return Interview(result, output, options).run()
    return _list(result, options)


def _list(result: SolveResult, options: argparse.Namespace) -> ExitCode:
    from certimeans.ambiguity import find_ambiguous_pairs  # noqa: PLC0415
    from certimeans.report.tables import write_sheet  # noqa: PLC0415

    with Counter(sys.stderr, "pairs looked at", quiet=options.quiet) as counter:
        pairs = find_ambiguous_pairs(
            result,
            options.count,
            decided=options.decided,
            gap=options.gap,
            time_limit=options.time_limit,
            n_jobs=options.jobs,
            tell=counter.show,
        )
    text = pairs.summary()
    if options.json:
        text = json.dumps({"pairs": [dict(zip(pairs.titles(), row, strict=True)) for row in pairs.rows()]})
    is_printed = print_output(text + "\n")
    output = options.output or options.folder / "questions.csv"
    try:
        write_sheet(output, pairs.titles(), _as_the_user_writes(pairs, result))
    except InputError as error:
        sys.stderr.write(f"certimeans: {harmless(str(error))}\n")
        return ExitCode.NOT_WRITTEN
    if not options.quiet:
        sys.stderr.write(
            f"the pairs are in {output}; fill in the column 'type' with y or n, and solve again with --constraints "
            f"{output}\n"
        )
    if not pairs.is_complete:
        return ExitCode.INTERRUPTED
    return ExitCode.OK if is_printed else ExitCode.NOT_WRITTEN


def _as_the_user_writes(pairs: AmbiguousPairs, result: SolveResult) -> list[list[object]]:
    """Write points as in the user's own constraint files: numbered from 0 or 1, or by name."""
    rows = []
    for pair, row in zip(pairs, pairs.rows(), strict=True):
        written = row[:2] if result.source is None else [result.source.written(point) for point in pair.points]
        rows.append([*written, *row[2:]])
    return rows

"""``certimeans verify``: re-prove a certificate."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans.commands import ExitCode
from certimeans.commands.problem import add_problem_options, read_problem
from certimeans.commands.streams import print_output
from certimeans.errors import CertificateError, InputError, MalformedCertificateError
from certimeans.printing import harmless

if TYPE_CHECKING:
    from certimeans.commands import Commands
    from certimeans.problem.instance import Instance


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "verify",
        help="re-prove the certificate of a result",
        description=(
            "Re-prove the certificate in DIR: that the clustering keeps every constraint and costs what it is said to "
            "cost, and that no other that does costs less than the lower bound. Shares no code with the solver. A "
            "result.json in DIR must not claim more. With DATA and the constraints, given as for 'solve', it also "
            "checks that the certificate is about these. Exit code 0: proven; 1: the certificate does not prove its "
            "claim, or not the gap G; 2: files that cannot be read; 6: files that are not a certificate."
        ),
        epilog="example: certimeans verify out --gap 1e-4 --data points.csv -k 3 --constraints pairs.txt",
    )
    add = parser.add_argument
    add("folder", metavar="DIR", type=Path, help="where certificate.json and certificate.npz are")
    add("--gap", metavar="G", type=float, help="the relative gap that has to be proven (default: any)")
    add("--data", metavar="DATA", type=Path, help="the original points, to compare with the certificate's copy")
    add(
        "--arithmetic",
        choices=("float", "ball"),
        default="float",
        help="floating point with all rounding accounted for, or balls (needs python-flint); default float",
    )
    add("--jobs", metavar="N", type=int, default=1, help="number of processes, -1 for all cores (default 1)")
    add("--json", action="store_true", help="print one JSON object on standard output")
    add_problem_options(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> ExitCode:
    """Verify and print."""
    from certimeans.certificate.check import verify  # noqa: PLC0415

    try:
        _check_folder(options.folder)
        verification = verify(options.folder, options.gap, _instance(options), options.arithmetic, options.jobs)
    except (CertificateError, InputError) as error:
        if options.json:
            print_output(json.dumps({"verified": False, "error": str(error)}) + "\n")
        if isinstance(error, InputError):
            raise
        broken = isinstance(error, MalformedCertificateError)
        verdict = "not a certificate" if broken else "not verified"
        sys.stderr.write(f"certimeans: {options.folder}: {verdict}: {harmless(str(error))}\n")
        return ExitCode.BROKEN if broken else ExitCode.NOT_VERIFIED
    if options.json:
        content = {"verified": True, **verification.to_dict(), "sentence": verification.sentence()}
        is_printed = print_output(json.dumps(content, allow_nan=False) + "\n")
    else:
        is_printed = print_output(verification.sentence() + "\n")
    return ExitCode.OK if is_printed else ExitCode.NOT_WRITTEN


def _check_folder(folder: Path) -> None:
    if not os.path.lexists(folder / "certificate.json"):
        raise InputError(f"{folder}: there is no certificate.json; name a folder that 'certimeans solve --out' wrote")


def _instance(options: argparse.Namespace) -> Instance | None:
    """Read the original problem, if it is given; its table holds the numbers of the file, standardised or not."""
    from certimeans.certificate.read import Certificate  # noqa: PLC0415

    if any(given is not None for given in (options.data, options.gram, options.squared_distances)):
        if options.k is None:
            with Certificate(options.folder) as certificate:
                options.k = str(certificate.k)
        problem = read_problem(options.data, options)
        if len(problem.cluster_counts) > 1:
            raise InputError("a certificate is about one number of clusters; give -k one number")
        return problem.instance
    stated = (options.constraints, options.partial_labels, options.columns, options.names, options.one_based, options.k)
    sizes = (options.size_min, options.size_max, options.sizes, options.capacity)
    if any(stated) or options.standardize or any(size is not None for size in sizes):
        raise InputError(
            "constraints, labels, columns, sizes, --standardize and -k are compared with the certificate only with "
            "--data"
        )
    return None

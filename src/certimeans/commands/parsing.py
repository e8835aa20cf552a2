"""Mistakes in what was typed: one line that says what to write instead."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

from certimeans.commands import ExitCode

_NAMES_ELSEWHERE = {
    "--k": "-k",
    "-n": "-k",
    "--clusters": "-k",
    "--n-clusters": "-k",
    "--n_clusters": "-k",
    "--must-link": "--constraints",
    "--cannot-link": "--constraints",
    "--labels": "--partial-labels",
    "--n-jobs": "--jobs",
    "--threads": "--jobs",
    "--random-state": "--seed",
    "-o": "--out",
    "--output": "--out",
    "--timeout": "--time-limit",
}
"""What users of scikit-learn, of other solvers and of our other commands may type."""
_LEAST_LIKENESS = 0.75


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the list of all options before it."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is; end with the exit code of bad input."""
        self.exit(ExitCode.BAD_INPUT, f"{self.prog}: {message} ('{self.prog} --help' lists all options)\n")


def parse(parser: Parser, arguments: Sequence[str]) -> argparse.Namespace:
    """Read what was typed; what no option takes is named, with the option that may have been meant."""
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        used: Parser = getattr(options, "parser", parser)
        used.error(f"unrecognized arguments: {' '.join(unknown)}{_advice(used, arguments, unknown)}")
    return options


def _advice(parser: Parser, arguments: Sequence[str], unknown: Sequence[str]) -> str:
    words = [word for argument in arguments for word in argument.split("=", 1)]
    if "--sizes" in words:
        after = words[words.index("--sizes") + 1 :]
        sizes = list(itertools.takewhile(lambda text: text.replace(".", "", 1).isdigit(), after))
        if len(sizes) > 1:
            return f"; write the sizes with commas and without spaces: --sizes {','.join(sizes)}"
    known = [name for action in parser._actions for name in action.option_strings]  # argparse has no public list
    meant = [_meant(name.partition("=")[0], known) for name in unknown if name.startswith("-")]
    names = [name for name in meant if name is not None]
    return f"; did you mean {' and '.join(names)}?" if names else ""


def _meant(typed: str, known: Sequence[str]) -> str | None:
    """Return the option that is called otherwise elsewhere, or spelled almost like what was typed."""
    elsewhere = _NAMES_ELSEWHERE.get(typed)
    if elsewhere in known:
        return elsewhere
    return next(iter(get_close_matches(typed, known, 1, _LEAST_LIKENESS)), None)

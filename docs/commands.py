"""Write docs/commands.md, the command reference, from the parsers themselves.

    python docs/commands.py           # write the page
    python docs/commands.py --check   # say whether the page is up to date

The page is put together from the parsers' parts and not from their help texts, whose layout differs between versions of
Python.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from certimeans.cli import build_parser

PAGE = Path(__file__).with_name("commands.md")
HEAD = """\
# Command reference

Made from the parsers by `docs/commands.py`; do not edit. `certimeans COMMAND --help` says the same.
"""
EXIT_CODES = """
## Exit codes

| code | means |
|---|---|
| 0 | done; for `solve`: optimal, that is, the gap asked for is proven; for `verify`: proven |
| 1 | `solve`: stopped before the gap was proven, with a clustering; `verify`, `explain`, `ask`: the certificate, \
or the gap asked for, is not proven; `bench`: an instance was not solved; `warmup`: nothing can be kept |
| 2 | bad input, with one line on standard error that names it |
| 3 | no clustering satisfies the constraints |
| 4 | stopped before any clustering was found |
| 5 | internal error: please report it; or what was found cannot be printed or written, and `solve` says where \
it is; or the system has no more memory or files; `bench`: an instance failed, or its certificate was not verified |
| 6 | `verify`, `explain`, `ask`: the files can be read, but are not a well-formed certificate |
| 130 | interrupted; `solve` still prints the best clustering and its proven bound |
"""


def page() -> str:
    """Return the whole page."""
    return HEAD + "".join(section(parser, about) for parser, about in commands(build_parser())) + EXIT_CODES


def commands(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Yield the parser of each command and its line in the list of commands. argparse has no public way to ask."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {choice.dest: choice.help or "" for choice in action._choices_actions}
            yield from ((command, about[name]) for name, command in action.choices.items())


def section(parser: argparse.ArgumentParser, about: str) -> str:
    """Describe one command: usage, what it does, arguments, an example."""
    arguments = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    usage = [parser.prog, *(spelling(action).split(", ")[-1] for action in arguments if action.required)]
    usage += [f"[{spelling(action)}]" for action in arguments if action.nargs == "?" and not action.option_strings]
    usage += [] if all(action.required for action in arguments) else ["[OPTIONS]"]
    description = parser.description or f"{about[0].upper()}{about[1:]}."
    lines = ["", f"## {parser.prog}", "", "```text", " ".join(usage), "```", "", description]
    if arguments:
        lines += ["", "| argument | meaning |", "|---|---|"]
        lines += [f"| `{spelling(action)}` | {cell(action.help or '')} |" for action in arguments]
    if parser.epilog:
        lines += ["", "Example:", "", "```text", parser.epilog.removeprefix("example: "), "```"]
    return "\n".join(lines) + "\n"


def spelling(action: argparse.Action) -> str:
    """Return how an argument is written: its names, and what follows them."""
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else None
    value = str(action.metavar or choices or action.dest)
    if not action.option_strings:
        return value
    value += "..." if action.nargs == "+" else ""
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}"


def cell(text: str) -> str:
    """Make a text fit for a cell of a table."""
    return text.replace("%%", "%").replace("|", "\\|")


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE.name} is out of date: run 'make docs' or 'python docs/commands.py'")

"""The folder of several numbers of clusters: a page that compares them, a table, and a folder for each."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from string import Template

from certimeans._version import __version__
from certimeans.analysis.choices import Choice
from certimeans.errors import InputError
from certimeans.printing import percent_up, text_down, text_up
from certimeans.problem.io.atomic import write_atomically
from certimeans.ranges import RangeResult
from certimeans.report.choice_plots import plot_choices
from certimeans.report.directory import prepare_directory, remove_result, write_directory
from certimeans.report.figures import draw_svg, is_available, page_style, paper
from certimeans.report.page import CHOICES_PAGE
from certimeans.report.tables import write_sheet

FILES = ("index.html", "range.csv", "range.json", "elbow.png")


def prepare_choices(folder: str | Path, counts: Sequence[int], *, overwrite: bool = False) -> None:
    """Make the folders, and make sure that results can be written there.

    Raises
    ------
    InputError
        If they cannot be made or written, or hold other results and ``overwrite`` is false.
    """
    folder = Path(folder)
    prepare_directory(folder, overwrite=overwrite)
    found = [name for name in FILES if (folder / name).exists()]
    if found and not overwrite:
        raise InputError(
            f"{folder}: there is another result ({found[0]}); choose another folder, or replace it with --overwrite "
            "(in Python: overwrite=True)"
        )
    for k in counts:
        prepare_directory(folder / f"k{k}", overwrite=overwrite)


def write_choices(results: RangeResult, folder: str | Path, *, command: str | None = None) -> None:
    """Write the page, the table, the picture, and the folder of each result; see :func:`prepare_choices`."""
    folder = Path(folder)
    choices = results.choices()
    write_atomically(folder / "range.json", (results.to_json() + "\n").encode())
    rows = [["" if value is None else value for value in choice] for choice in choices]
    write_sheet(folder / "range.csv", list(Choice._fields), rows)
    for k in results.infeasible:
        remove_result(folder / f"k{k}")
        with suppress(OSError):  # there, and not empty: what else is in it is the user's
            (folder / f"k{k}").rmdir()
    for k, result in results.items():
        write_directory(result, folder / f"k{k}", command=None if command is None else f"{command}  # k = {k}")
    write_atomically(folder / "index.html", _page(results, command).encode())
    if is_available():
        write_atomically(folder / "elbow.png", _picture(choices))


def _picture(choices: Sequence[Choice]) -> bytes:
    buffer = io.BytesIO()
    with page_style():
        figure = plot_choices(choices).get_figure(root=True)
        if figure is not None:
            figure.savefig(buffer, format="png", dpi=150, facecolor=paper())
    return buffer.getvalue()


def _page(results: RangeResult, command: str | None) -> str:
    choices = results.choices()
    svg = ""
    if is_available():
        svg = f"<figure class=card>{draw_svg(lambda: plot_choices(choices), 'cost by number of clusters')}</figure>"
    made = f"<section><h2>How to make it again</h2><div class=card><code>{escape(command or '')}</code></div></section>"
    notes = next(iter(results.values())).notes if results else ()
    return Template(CHOICES_PAGE).substitute(
        counts=f"{choices[0].k} to {choices[-1].k}" if choices else "",
        picture=svg,
        rows="".join(_row(choice) for choice in choices),
        notes=f"<p class=note>About the data: {escape('; '.join(notes))}.</p>" if notes else "",
        reproduce=made if command else "",
        version=escape(__version__),
    )


def _row(choice: Choice) -> str:
    name = f"{choice.k}" if choice.cost is None else f'<a href="k{choice.k}/report.html">{choice.k}</a>'
    cells = [
        "–" if choice.cost is None else text_up(choice.cost),
        "–" if choice.lower_bound is None else text_down(choice.lower_bound),
        "–" if choice.gap is None else percent_up(choice.gap),
        "–" if choice.explained is None else f"{100 * choice.explained:.1f} %",
        "–" if choice.silhouette is None else f"{choice.silhouette:.3f}",
        "–" if choice.agreement is None else f"{choice.agreement:.2f}",
        choice.status.replace("_", " "),
    ]
    return f"<tr><th scope=row>{name}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"

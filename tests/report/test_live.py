import io
import math
import os
import re
import struct
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from certimeans.report.live import LiveProgress, describe, flow, sparkline
from certimeans.report.progress import ProgressLog, choose_display
from certimeans.search.limits import Progress
from tests.report.examples import make_result

LINE = make_result([[0.0], [1.0], [5.0]], [0, 0, 1]).instance


def run_in_terminal(arguments: list[str], columns: int, **environment: str) -> str:
    """Run the command line with standard error on a pseudo-terminal, and return what it showed."""
    import fcntl  # noqa: PLC0415  # not on Windows
    import termios  # noqa: PLC0415

    main, side = os.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "certimeans", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=side,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )
    os.close(side)
    shown = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:  # how Linux says that the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(main)
    assert process.wait() == 0, shown.decode()
    return shown.decode()


@pytest.fixture
def points(tmp_path: Path) -> Path:
    """Forty points without structure."""
    path = tmp_path / "points.txt"
    path.write_text("\n".join(f"{i * 7919 % 101} {i * 104729 % 97}" for i in range(40)), encoding="utf-8")
    return path


@pytest.mark.parametrize("columns", [60, 120])
def test_a_terminal_shows_incumbent_bound_and_gap(points: Path, columns: int) -> None:
    """The last state stays on the screen, and no line is wider than the terminal."""
    shown = run_in_terminal(["solve", str(points), "-k", "5"], columns, TERM="xterm")
    screen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.rpartition("\x1b[2K")[2])
    for name in ("incumbent ", "bound ", "gap ", "nodes ", "cuts ", "time ", "phase ", "gap history "):
        assert name in screen
    assert max(map(len, screen.splitlines())) <= columns


def test_no_color_and_dumb_terminals_are_respected(points: Path) -> None:
    """NO_COLOR removes colours, TERM=dumb every control sequence."""
    plain = run_in_terminal(["solve", str(points), "-k", "5"], 80, TERM="dumb")
    assert "\x1b" not in plain
    assert "incumbent" in plain
    shown = run_in_terminal(["solve", str(points), "-k", "5"], 80, TERM="xterm", NO_COLOR="1")
    assert re.search(r"\x1b\[[0-9;]*3[0-7]m", shown) is None


def test_the_plain_locale_gets_ascii(points: Path) -> None:
    """Python writes UTF-8 there by itself, which such a terminal cannot show; narrow windows cut lines short."""
    shown = run_in_terminal(["solve", str(points), "-k", "5"], 30, TERM="xterm", LC_ALL="C", PYTHONIOENCODING="")
    assert "gap history" in shown
    assert shown.isascii()


def test_pipes_and_quiet_runs_get_plain_lines() -> None:
    """Only a terminal gets the live display."""
    assert isinstance(choose_display(io.StringIO()), ProgressLog)
    assert isinstance(choose_display(io.StringIO(), quiet=True), ProgressLog)


def test_plain_lines_begin_when_there_is_something_to_say() -> None:
    """Presolve says what it did, once; no clustering is a dash; lines are seconds apart, but the last is due."""
    stream = io.StringIO()
    log = ProgressLog(stream, quiet=False)
    log.progress(Progress(0.0, math.inf, 0.0, 0, 0, 0, 0, "presolve"))
    assert stream.getvalue() == ""
    for _ in range(2):
        log.progress(Progress(0.0, math.inf, 0.0, 0, 0, 0, 0, "presolve", "presolve: 3 points"))
    for nodes_open in (1, 1, 0, 0):
        log.progress(Progress(1.0, math.inf, 2.0, 1, nodes_open, 0, 5, "root"))
    presolve, header, *lines = stream.getvalue().splitlines()
    assert presolve == "presolve: 3 points"
    assert "incumbent" in header
    assert [line.split() for line in lines] == [["1.0", "1", n, "-", "5", "-", "2", "-"] for n in ("1", "0")]
    assert max(map(len, (header, *lines))) < 80


def test_a_new_incumbent_is_marked_by_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """H for the search, R for the relaxation; no mark on lines with the same incumbent."""
    monkeypatch.setattr("certimeans.report.progress._SECONDS_BETWEEN_LINES", 0.0)
    stream = io.StringIO()
    log = ProgressLog(stream, quiet=False)
    for cost, source in ((5.0, "search"), (5.0, "search"), (4.0, "relaxation")):
        log.progress(Progress(2.0, cost, 2.0, 4, 1, 0, 5, "search", source=source))
    assert [line.split()[3:7] for line in stream.getvalue().splitlines()[1:]] == [
        ["2.0", "5", "H", "5"],
        ["2.0", "5", "5", "2"],
        ["2.0", "5", "R", "4"],
    ]


def test_the_log_says_when_the_search_is_saved_next() -> None:
    """On the clock of the first column, where there is a checkpoint; the line where the search ends names none."""
    stream = io.StringIO()
    with ProgressLog(stream, quiet=False) as log:
        log.progress(Progress(12_345.6, 5.0, 2.0, 1, 1, 0, 5, "search", next_save=2.0))
        log.progress(Progress(12_346.6, 5.0, 2.0, 2, 1, 0, 5, "search", next_save=1.0))
    header, first, last = stream.getvalue().splitlines()
    assert header.split()[-1] == "save"
    assert [line.split()[-1] for line in (first, last)] == ["12348", "-"]
    stream = io.StringIO()
    ProgressLog(stream, quiet=False).progress(Progress(3.21, 5.0, 2.0, 1, 1, 0, 5, "search", next_save=2.0))
    assert stream.getvalue().endswith(" 5.2\n")
    stream = io.StringIO()
    ProgressLog(stream, quiet=False).progress(Progress(3.21, 5.0, 2.0, 1, 1, 0, 5, "search"))
    assert "save" not in stream.getvalue()


@pytest.mark.parametrize("phase", ["search", "parts"])
def test_no_line_of_the_log_is_wider_than_a_terminal(phase: str) -> None:
    """Eighty characters are enough for a day's search of millions of points, next save included."""
    stream = io.StringIO()
    progress = Progress(
        86_400.0,
        1.2345678e15,
        1.2345678e-15,
        123_456,
        12_345,
        8,
        123_456,
        phase,
        parts=123_456,
        parts_done=123_455,
        expected_gap=1.0,
        seconds_left=86_400.0,
        next_save=10.0 if phase == "search" else None,  # parts are saved one by one
    )
    ProgressLog(stream, quiet=False).progress(progress)
    header, line = stream.getvalue().splitlines()
    assert len(header) == len(line) < 80


def test_the_live_display_counts_down_to_the_next_save() -> None:
    """Between two messages of the search time goes on."""
    progress = Progress(1.0, 5.0, 2.0, 1, 1, 0, 5, "search", next_save=2.0)
    shown = [{name: value for name, value, _ in describe(progress, 1.0, since)} for since in (0.0, 1.5, 2.5)]
    assert [fields["next save"] for fields in shown] == ["in 2 s", "in 1 s", "with the next news"]


class Terminal(io.StringIO):
    """Text that claims to be a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Claim it."""
        return True


def test_a_display_of_a_failed_solve_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the input turns out to be infeasible, the message stands alone."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    display = choose_display(stream)
    assert isinstance(display, LiveProgress)
    display.start(LINE, ["take care"])
    display.progress(Progress(0.0, math.inf, 0.0, 0, 0, 0, 0, "presolve"))
    display.__exit__(ValueError, ValueError(), None)
    assert "note: take care\n" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[2K")


def test_fields_flow_into_the_width() -> None:
    """Nothing is lost in a narrow terminal."""
    fields = describe(Progress(1.0, 1234567.8, 1234560.1, 12, 3, 2, 3710, "search"), 3723.0)
    for width in (40, 60, 200):
        lines = [line.plain for line in flow(fields, width)]
        assert max(map(len, lines)) <= width
        assert "   ".join(lines).split() == "   ".join(f"{name} {value}" for name, value, _ in fields).split()
    assert "time 1:02:03" in "   ".join(line.plain for line in flow(fields, 200))


def test_before_a_clustering_is_known_the_display_says_so() -> None:
    """No infinity and no zero by zero."""
    values = {name: value for name, value, _ in describe(Progress(1.0, math.inf, 0.0, 0, 1, 0, 0, "root"), 1.0)}
    assert (values["incumbent"], values["bound"], values["gap"]) == ("none yet", "0", "unknown")


def test_where_nothing_is_proven_the_display_shows_a_dash() -> None:
    """Costs of a Gram matrix may be negative: 0 would be a false bound."""
    progress = Progress(1.0, -3.0, -math.inf, 0, 1, 0, 0, "root")
    for dash, options in (("–", ()), ("-", (0.0, "-"))):
        values = {name: value for name, value, _ in describe(progress, 1.0, *options)}
        assert (values["incumbent"], values["bound"], values["gap"]) == ("-3", dash, "unknown")


def test_the_display_rounds_outwards() -> None:
    """The incumbent up, the bound down, as the log does."""
    values = {n: v for n, v, _ in describe(Progress(1.0, 2.00000001, 1.99999999, 1, 1, 0, 0, "search"), 1.0)}
    assert (values["incumbent"], values["bound"]) == ("2.0000001", "1.9999999")


def test_the_log_rounds_gaps_up() -> None:
    """Where the product of floats is rounded down to a number with four decimals."""
    gap = next(i / 1e6 for i in range(10**6, 2 * 10**6) if 1e6 * (i / 1e6) == i and Fraction(i / 1e6) * 10**6 > i)
    progress = Progress(1.0, 1.0, 1 - gap, 1, 0, 0, 5, "root")
    assert progress.gap == gap
    stream = io.StringIO()
    ProgressLog(stream, quiet=False).progress(progress)
    assert Fraction(stream.getvalue().split()[-1]) >= 100 * Fraction(gap)


def test_messages_cannot_drive_the_terminal() -> None:
    """They name folders and addresses that others chose."""
    progress = Progress(0.0, math.inf, -math.inf, 0, 0, 0, 0, "presolve", "saved: in a\x1b]0;b")
    log, live = io.StringIO(), Terminal()
    ProgressLog(log, quiet=False).progress(progress)
    LiveProgress(live).progress(progress)
    assert log.getvalue() == "saved: in a\\x1b]0;b\n"
    assert "saved: in a\\x1b]0;b" in live.getvalue()


def test_the_sparkline_falls_with_the_logarithm_of_the_gap() -> None:
    """A decade down is a step down; before the first gap there is nothing; a closed gap is the lowest block."""
    line = sparkline([(2.0, 1.0), (4.0, 0.1), (6.0, 0.01), (8.0, 0.001)], 10.0, 10)
    assert line[0] == " "
    heights = ["▁▂▃▄▅▆▇█".index(block) for block in line[1:]]
    assert heights == sorted(heights, reverse=True)
    assert (heights[0], heights[-1]) == (7, 0)
    assert sparkline([(0.0, math.inf)], 1.0, 3) == "███"
    assert sparkline([(0.0, 0.5), (1.0, 0.0)], 1.0, 2) == "█▁"
    assert sparkline([], 1.0, 3) == ""

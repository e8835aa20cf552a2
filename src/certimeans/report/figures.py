"""New axes for users, and pictures for pages: matplotlib without its global state, and SVG that fits into a page.

Matplotlib is the extra ``plot``; it is imported when a picture is drawn. pyplot keeps every figure that it makes, and
shows it in notebooks and windows. So users get one of its figures where they would look for it: in a notebook, and if
they imported pyplot themselves. Pictures for pages are never pyplot's.
"""

from __future__ import annotations

import io
import re
import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from certimeans.errors import InputError
from certimeans.report.colours import INK, PAPER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")

_is_for_page: ContextVar[bool] = ContextVar("is_for_page", default=False)

# Whatever the user's own style is, pictures in a report look alike.
_PAGE_STYLE: dict[str, Any] = {
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10.0,
    "legend.fontsize": 9.0,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "axes.facecolor": PAPER,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",  # text stays text: small, and the browser has every letter
}


def is_available() -> bool:
    """Whether matplotlib is installed."""
    try:
        _figure_class()
    except InputError:
        return False
    return True


def make_axes(ax: Axes | None, width: float = 5.2, height: float = 4.0) -> Axes:
    """Return ``ax``, or the axes of a new figure of this size in inches."""
    if ax is not None:
        return ax
    make_figure = _figure_class()
    if not _is_for_page.get() and is_pyplot_expected():
        import matplotlib.pyplot as plt  # noqa: PLC0415

        make_figure = plt.figure
    new: Axes = make_figure(figsize=(width, height), layout="constrained").add_subplot()
    return new


def is_pyplot_expected() -> bool:
    """Whether this is a notebook, or pyplot is in use already."""
    if "matplotlib.pyplot" in sys.modules:
        return True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def page_style() -> Iterator[None]:
    """Draw with the report's style, on figures that pyplot knows nothing of."""
    import matplotlib.style  # noqa: PLC0415

    token = _is_for_page.set(True)
    try:
        with matplotlib.style.context(["default", _PAGE_STYLE]), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # letters that matplotlib's font lacks
            yield
    finally:
        _is_for_page.reset(token)


def ink() -> str:
    """Return the colour of text under the current style, which may be a dark one."""
    import matplotlib as mpl  # noqa: PLC0415

    return str(mpl.rcParams["text.color"])


def paper() -> str:
    """Return the colour behind the picture."""
    import matplotlib as mpl  # noqa: PLC0415

    return str(mpl.rcParams["axes.facecolor"])


def plain(name: str, longest: int = 28) -> str:
    """Make a name from a data file fit for a label: one line, no control characters, not too long.

    Long names lose their middle: those of a table often begin alike and differ at the end.
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    if len(line) <= longest:
        return line
    end = (longest - 1) // 2
    return f"{line[: longest - 1 - end].rstrip()}…{line[-end:].lstrip()}"


def draw_svg(draw: Callable[[], Axes], title: str) -> str:
    """Draw with the report's style and return an ``<svg>`` element to put into a page."""
    import matplotlib as mpl  # noqa: PLC0415

    buffer = io.BytesIO()
    with page_style(), mpl.rc_context({"svg.hashsalt": title}):
        figure = draw().get_figure(root=True)
        if figure is None:
            raise InputError("the axes belong to no figure")
        figure.draw_without_rendering()  # the layout may change the ticks, and these the room that the labels need
        figure.savefig(buffer, format="svg", transparent=True, dpi=160, metadata={"Date": None})
    return _fit_into_page(buffer.getvalue(), title)


def _fit_into_page(svg: bytes, title: str) -> str:
    """Strip what a page does not need, shorten numbers, and let colours of text and paper follow the page."""
    root = ET.fromstring(svg)  # noqa: S314  # written by matplotlib a moment ago
    for element in root.findall(f"{_SVG}metadata"):
        root.remove(element)
    for parent in list(root.iter()):
        for child in [c for c in parent if c.tag == f"{_SVG}style"]:  # it would apply to the whole page
            parent.remove(child)
    referenced = _referenced(root)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        element.tail = None
        element.attrib = {
            name.removeprefix(_XLINK): _tidy(name, value)
            for name, value in element.attrib.items()
            if name != "id" or value in referenced
        }
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    root.attrib.update({"role": "img", "aria-label": title})
    return ET.tostring(root, encoding="unicode")


def _referenced(root: ET.Element) -> set[str]:
    found: set[str] = set()
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == f"{_XLINK}href":
                found.add(value.removeprefix("#"))
            found.update(_REFERENCE.findall(value))
    return found


def _tidy(name: str, value: str) -> str:
    if name == "style":
        value = value.replace(INK.lower(), "currentColor").replace(PAPER.lower(), "var(--card)")
    if name in {"d", "x", "y", "points"}:
        value = _LONG_NUMBER.sub(lambda match: f"{float(match[0]):.2f}", value).replace("\n", "")
    return value


def _figure_class() -> Any:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise InputError("pictures need matplotlib: pip install 'certimeans[plot]'") from None
    return Figure

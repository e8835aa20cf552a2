"""Draw docs/images/imports.svg: which folder of the package imports from which.

    python docs/imports.py           # draw the picture
    python docs/imports.py --check   # say whether the picture is up to date

Folders are in the order in which data flow through them: all circles are below the diagonal. The row of the checker,
``certificate``, is empty.
"""

import ast
import sys
from collections import Counter
from pathlib import Path

PICTURE = Path(__file__).parent / "images" / "imports.svg"
PACKAGE = Path(__file__).parents[1] / "src" / "certimeans"
ROOMS = (
    "problem", "presolve", "heuristics", "proof", "bounds", "search", "certificate", "analysis", "report", "baselines",
    "bench", "commands",
)  # fmt: skip
CELL, LEFT, TOP = 36, 104, 92


def imported_rooms(path: Path) -> set[str]:
    """Return the folders that a module imports from, lazily or not; imports for type checkers alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    names = [
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and id(node) not in typing_only
        for name in (f"{node.module}.{alias.name}" for alias in node.names)
    ]
    return {name.split(".")[1] for name in names if name.startswith("certimeans.")} & {*ROOMS}


def count_imports() -> Counter[tuple[str, str]]:
    """Count the modules of one folder that import from another."""
    return Counter(
        (room, other)
        for room in ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for other in imported_rooms(path)
        if other != room
    )


def picture() -> str:
    """Draw a row per folder and a column per folder that it imports from, with the number of modules that do."""
    size = CELL * len(ROOMS)
    parts = []
    for place, room in enumerate(ROOMS):
        middle = CELL * place + CELL // 2
        parts += [
            f'<text x="{LEFT - 10}" y="{TOP + middle + 4}" text-anchor="end">{room}</text>',
            f'<text transform="translate({LEFT + middle + 4} {TOP - 8}) rotate(-45)">{room}</text>',
            f'<rect x="{LEFT + CELL * place}" y="{TOP + CELL * place}" width="{CELL}" height="{CELL}" fill="#e3e6ea"/>',
            f'<path d="M{LEFT} {TOP + CELL * place}h{size}M{LEFT + CELL * place} {TOP}v{size}" stroke="#dcdfe3"/>',
        ]
    for (room, other), number in sorted(count_imports().items()):
        x = LEFT + CELL * ROOMS.index(other) + CELL // 2
        y = TOP + CELL * ROOMS.index(room) + CELL // 2
        parts += [
            f'<circle cx="{x}" cy="{y}" r="13" fill="#0072b2"><title>{room} imports from {other}</title></circle>',
            f'<text x="{x}" y="{y + 4}" text-anchor="middle" fill="#ffffff">{number}</text>',
        ]
    width, height = LEFT + size + 70, TOP + size + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="13" fill="#1b1c1e">\n<rect width="{width}" height="{height}" '
        'fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PICTURE.write_text(picture(), encoding="utf-8")
    elif PICTURE.read_text(encoding="utf-8") != picture():
        sys.exit(f"{PICTURE.name} is out of date: run 'make docs' or 'python docs/imports.py'")

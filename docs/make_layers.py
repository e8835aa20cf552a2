"""Draw which folders of the package import from which, read from the code: ``python docs/make_layers.py``."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "src" / "certimeans"
PICTURE = DOCS / "images" / "layers.svg"
ROOMS = {
    "problem": "what is asked",
    "presolve": "smaller and equivalent",
    "heuristics": "upper bounds",
    "proof": "why it is true, as data",
    "bounds": "lower bounds",
    "search": "branch and cut",
    "report": "for readers",
    "bench": "suites of instances",
    "commands": "the command line",
}
"""The folders in the order in which data flow through them; each imports only from those before it."""

_WIDTH, _LEFT, _BOX_WIDTH, _BOX_HEIGHT, _STEP = 640, 120, 290, 34, 56


def imports_between_rooms() -> Counter[tuple[str, str]]:
    """Count, for each pair of folders, the modules of the first that import from the second."""
    found: Counter[tuple[str, str]] = Counter()
    for room in ROOMS:
        for path in (PACKAGE / room).rglob("*.py"):
            names = set()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("certimeans."):
                    names.add(node.module.split(".")[1])
            found.update((room, other) for other in names if other in ROOMS and other != room)
    return found


def draw() -> str:
    """Return the picture as SVG: one box per folder, one arc per pair, thicker where more modules import."""
    rooms = list(ROOMS)
    height = _STEP * len(rooms) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        'font-size="14" role="img" aria-label="Which folders import from which">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for (room, other), count in sorted(imports_between_rooms().items()):
        start, end = (rooms.index(name) * _STEP + 20 + _BOX_HEIGHT // 2 for name in (room, other))
        # Neighbours on the left, others on the right: their arcs would hide each other.
        is_near = abs(rooms.index(room) - rooms.index(other)) == 1
        side, sign = (_LEFT, -1) if is_near else (_LEFT + _BOX_WIDTH, 1)
        bow = side + sign * (20 + 0.45 * abs(start - end))
        parts.append(
            f'<path d="M {side} {start} C {bow:.0f} {start}, {bow:.0f} {end}, {side} {end}" fill="none" '
            f'stroke="#4477aa" stroke-opacity="0.55" stroke-width="{1 + 0.35 * count:.1f}">'
            f"<title>{count} modules of {room} import from {other}</title></path>"
        )
    for number, (room, words) in enumerate(ROOMS.items()):
        top = number * _STEP + 20
        parts += [
            f'<rect x="{_LEFT}" y="{top}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="5" fill="#f4f4f0" '
            'stroke="#555555"/>',
            f'<text x="{_LEFT + 10}" y="{top + 22}"><tspan font-weight="bold">{room}</tspan>'
            f'<tspan fill="#555555" dx="8">{words}</tspan></text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")

"""Which state the sources of compiled functions are in.

numba looks at a function's own file only, so after an edit of a function, its callers in other files would go on with
the old one. Here all files with compiled functions count together, and what they import at their beginning: machine
code holds copies of the functions and constants of other modules.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_IMPORT = re.compile(rb"^(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w.]+))", re.MULTILINE)
_NAME = re.compile(rb"\w+")
_DECORATORS = "certimeans.compilation"


def top_package(file: Path) -> Path:
    """Return the folder of the outermost package that a file belongs to, or the file itself."""
    top = file
    while (top.parent / "__init__.py").exists():
        top = top.parent
    return top


@cache
def digest(package: Path) -> str:
    """Return a short digest of all sources below a folder that hold compiled functions, or that such sources import."""
    if package.is_file():
        sources = {package: package.read_bytes()}
    else:
        sources = _relevant({path: path.read_bytes() for path in package.rglob("*.py")}, package.parent)
    total = hashlib.sha256()
    for path in sorted(sources):
        name = path.relative_to(package.parent).as_posix().encode()
        total.update(b"%d %s %d " % (len(name), name, len(sources[path])) + sources[path])
    return total.hexdigest()[:16]


def _relevant(sources: dict[Path, bytes], folder: Path) -> dict[Path, bytes]:
    waiting = [
        path for path in sources if any(_uses_decorators(name) for name in _imports(sources[path], path, folder))
    ]
    found: dict[Path, bytes] = {}
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = sources[path]
        for module in _imports(sources[path], path, folder):
            place = folder.joinpath(*module.split("."))
            waiting += [file for file in (place.with_suffix(".py"), place / "__init__.py") if file in sources]
    return found


def _uses_decorators(module: str) -> bool:
    return module == _DECORATORS or module.startswith(f"{_DECORATORS}.")


def _imports(text: bytes, path: Path, folder: Path) -> Iterator[str]:
    """Yield what a file imports at its beginning; also what may be a function and not a module."""
    for match in _IMPORT.finditer(text):
        module = (match[1] or match[3]).decode()
        if module.startswith("."):  # relative to its package
            above = path.parents[len(module) - len(module.lstrip(".")) - 1].relative_to(folder)
            module = ".".join((*above.parts, *filter(None, module.lstrip(".").split("."))))
        yield module
        for name in _NAME.findall(match[2] or b""):
            yield f"{module}.{name.decode()}"

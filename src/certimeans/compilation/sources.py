"""Which state the sources of compiled functions are in.

numba looks at a function's own file only, so after an edit of a function, its callers in other files would go on with
the old one. Here all files with compiled functions count together, and what they import at their beginning: machine
code holds copies of the functions and constants of other modules.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_IMPORT = re.compile(rb"^(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w.]+))", re.MULTILINE)
_NAME = re.compile(rb"\w+")
_DECORATORS = b"certimeans.compilation"


def top_package(file: Path) -> Path:
    """Return the folder of the outermost package that a file belongs to, or the file itself."""
    top = file
    while (top.parent / "__init__.py").exists():
        top = top.parent
    return top


@cache
def digest(package: Path) -> str:
    """Return a short digest of all sources below a folder that hold compiled functions, or that such sources import."""
    sources = {package.stem: package.read_bytes()} if package.is_file() else _relevant(_modules(package))
    total = hashlib.sha256()
    for name, text in sorted(sources.items()):
        total.update(b"%s %d " % (name.encode(), len(text)) + text)
    return total.hexdigest()[:16]


def _modules(package: Path) -> dict[str, bytes]:
    """Read the source of each module, by its name; a package is named as ``package.__init__``."""
    modules = {}
    skipped = len(str(package.parent)) + 1
    for folder, _, files in os.walk(package):
        prefix = folder[skipped:].replace(os.sep, ".")
        for file in files:
            if file.endswith(".py"):
                with open(os.path.join(folder, file), "rb") as source:  # noqa: PTH118, PTH123  # paths would take longer
                    modules[f"{prefix}.{file[:-3]}"] = source.read()
    return modules


def _relevant(modules: dict[str, bytes]) -> dict[str, bytes]:
    waiting = [name for name, text in modules.items() if _DECORATORS in text]
    found: dict[str, bytes] = {}
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = modules[name]
        for imported in _imports(name, modules[name]):
            waiting += [module for module in (imported, f"{imported}.__init__") if module in modules]
    return found


def _imports(name: str, text: bytes) -> Iterator[str]:
    """Yield what a module imports at its beginning; also what may be a function and not a module."""
    for match in _IMPORT.finditer(text):
        module = (match[1] or match[3]).decode()
        if module.startswith("."):  # relative to its package
            rest = module.lstrip(".")
            above = name.split(".")[: len(rest) - len(module)]
            module = ".".join((*above, rest)) if rest else ".".join(above)
        yield module
        for part in _NAME.findall(match[2] or b""):
            yield f"{module}.{part.decode()}"

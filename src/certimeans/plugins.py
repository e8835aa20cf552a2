"""Parts of the solver that come from outside the package: cut families, heuristics and bounders of other people.

A plug-in is named in the settings: a function or class itself, its address ``"package.module:name"``, or the name of an
entry point that an installed package declares in the group ``certimeans.cuts``, ``certimeans.heuristics`` or
``certimeans.bounders``. None is active unless it is named. What it returns is checked like anything else: cuts are
valid by their form, labels are checked on the raw data, and bounds are proven again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeAlias

from certimeans.errors import InputError

Plugin: TypeAlias = str | Callable[..., Any]


def load_plugin(plugin: Plugin, group: str) -> Callable[..., Any]:
    """Return the function or class that a setting names.

    Parameters
    ----------
    group
        "cuts", "heuristics" or "bounders".

    Raises
    ------
    InputError
        If there is none, or it cannot be imported.
    """
    return plugin if callable(plugin) else _find(plugin, group)


@cache
def _find(name: str, group: str) -> Callable[..., Any]:
    try:
        if ":" in name:
            module, _, attribute = name.partition(":")
            found = getattr(import_module(module), attribute)
        else:
            declared = entry_points(group=f"certimeans.{group}")
            if name not in declared.names:
                known = f"there are {', '.join(sorted(declared.names))}" if declared.names else "none is installed"
                raise InputError(
                    f"no package declares an entry point {name!r} in the group 'certimeans.{group}' ({known}); a "
                    "function is named as 'package.module:name'"
                )
            found = declared[name].load()
    except (ImportError, AttributeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"the plug-in {name!r} cannot be imported: {error} (its package must be installed, or its folder named in "
            "PYTHONPATH)"
        ) from error
    if not callable(found):
        raise InputError(f"the plug-in {name!r} is not a function or class, but {found!r}")
    return found  # type: ignore[no-any-return]


def name_of(plugin: Plugin) -> str:
    """Return how messages call a plug-in."""
    return plugin if isinstance(plugin, str) else getattr(plugin, "__qualname__", repr(plugin))

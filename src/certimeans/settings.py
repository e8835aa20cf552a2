"""All settings of the solver as one tree: each stage has its own dataclass, and this one holds them all.

None of them changes what is proven, only how fast. They are for experiments; the defaults suit most problems.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar, get_origin

from certimeans.errors import InputError
from certimeans.search.settings import NodeSettings
from certimeans.setting_checks import describe_kind, has_kind, kinds_of

_Stage = TypeVar("_Stage")


@dataclass(frozen=True)
class SolverSettings(NodeSettings):
    """How the parts of the solver work: what ``solve(settings=...)`` takes.

    The stages are attributes: ``root_search``, ``node_search`` and ``long_search`` are the local searches before the
    root's relaxation, after each relaxation, and beside the root on an idle worker; ``cutting_planes`` is the
    relaxation, with its solver in ``cutting_planes.admm`` and its search for cuts in ``cutting_planes.separation``.
    :func:`describe_settings` lists every field.

    Attributes
    ----------
    memory_limit
        Bytes that one bound may take; half of the memory that is free if not given.
    heuristics, bounders
        Further heuristics and bounders for the root, from outside the package: functions, or their names
        ("package.module:name", or an entry point); see Extending.
    """

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read settings from a TOML file; what it leaves out keeps its default.

        A table per stage, named as the attributes are::

            [root_search]
            n_searches = 1000

            [cutting_planes.admm]
            over_relaxation = 1.5

        Raises
        ------
        InputError
            If the file cannot be read, or a name or value in it is not usable; the message names it.
        """
        import tomllib  # noqa: PLC0415  # few use a file

        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path}: the settings cannot be read ({error.strerror or error})") from None
        except ValueError as error:  # not UTF-8, not TOML, or a name that no file can have
            raise InputError(f"{path}: this is not a TOML file ({error})") from None
        try:
            return _changed(cls(), content, "")
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @classmethod
    def load(cls, settings: object) -> Self | None:
        """Return settings as they are, those of a TOML file, or ``None`` for ``None``."""
        if settings is None or isinstance(settings, cls):
            return settings
        if isinstance(settings, str | Path):
            return cls.from_toml(settings)
        raise InputError(f"settings must be SolverSettings, the path of a TOML file, or None; got {settings!r}")


class SettingsRow(NamedTuple):
    """One or several fields that are explained together.

    Attributes
    ----------
    table
        The name of their table in a TOML file.
    names, defaults
        What they are called, and their values unless changed.
    meaning
        What they do; empty if they are not explained.
    """

    table: str
    names: tuple[str, ...]
    defaults: tuple[Any, ...]
    meaning: str


def describe_settings(settings: Any = None, table: str = "") -> Iterator[SettingsRow]:
    """Yield every field of the settings with its default and its explanation, stage by stage."""
    settings = SolverSettings() if settings is None else settings
    meanings = _explanations(type(settings))
    plain = [field.name for field in fields(settings) if not is_dataclass(getattr(settings, field.name))]
    while plain:
        group = next((names for names in meanings if plain[0] in names), (plain[0],))
        together = tuple(name for name in plain if name in group)
        defaults = tuple(getattr(settings, name) for name in together)
        yield SettingsRow(table, together, defaults, meanings.get(group, ""))
        plain = [name for name in plain if name not in group]
    for field in fields(settings):
        value = getattr(settings, field.name)
        if is_dataclass(value):
            yield from describe_settings(value, f"{table}.{field.name}" if table else field.name)


def _explanations(stage: type) -> dict[tuple[str, ...], str]:
    """Read the section ``Attributes`` of a docstring: names, and what is said about them."""
    # From Python 3.13 on docstrings come without their indentation.
    _, _, section = inspect.cleandoc(stage.__doc__ or "").partition("Attributes\n----------\n")
    found: dict[tuple[str, ...], str] = {}
    for entry in re.split(r"\n(?=\w)", "\n" + section.rstrip())[1:]:
        names, _, text = entry.strip().partition("\n")
        found[tuple(names.split(", "))] = " ".join(text.split())
    return found


def _changed(settings: _Stage, content: dict[str, Any], where: str) -> _Stage:
    """Return settings with some fields replaced, checked by name and type, and then by the stage itself."""
    kinds = kinds_of(settings)
    names = [field.name for field in fields(settings)]  # type: ignore[arg-type]  # always a dataclass
    changes: dict[str, Any] = {}
    for name, value in content.items():
        place = f"{where}.{name}" if where else name
        if name not in names:
            raise InputError(f"there is no setting {place!r}{_suggestion(name, names, where)}")
        default = getattr(settings, name)
        if is_dataclass(default):
            if not isinstance(value, dict):
                raise InputError(f"{place!r} is a table of settings; got {value!r}")
            changes[name] = _changed(default, value, place)
        else:
            changes[name] = _checked(value, kinds[name], place)
    try:
        return replace(settings, **changes)  # type: ignore[type-var]
    except ValueError as error:  # the stage's own check, which names the field
        raise InputError(f"{where}: {error}" if where else str(error)) from None


def _checked(value: Any, kind: Any, place: str) -> Any:
    """Return a value as its field takes it: TOML has lists for tuples, and integers for numbers."""
    if get_origin(kind) is tuple:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise InputError(f"{place!r} must be a list of strings; got {value!r}")
    if not has_kind(value, kind):
        raise InputError(f"{place!r} must be {describe_kind(kind).removesuffix(' or None')}; got {value!r}")
    return value


def _suggestion(name: str, names: list[str], where: str) -> str:
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return f"; did you mean {f'{where}.{near[0]}' if where else near[0]!r}?"
    return f"; there are {', '.join(names)}"

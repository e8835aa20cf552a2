"""What all settings are checked for: the type of each value, and the range of each number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from certimeans.errors import InputError

_TYPE_NAMES = {int: "an integer", float: "a number", bool: "true or false", str: "a string", NoneType: "None"}
_LARGEST_COUNT = 10**9
"""More than anything is counted up to; compiled code multiplies such numbers, and must not overflow."""


def check_settings(
    settings: Any,
    *,
    least: Mapping[str, float] | None = None,
    most: Mapping[str, float] | None = None,
    positive: Iterable[str] = (),
    may_be_infinite: Iterable[str] = (),
) -> None:
    """Refuse values of the wrong type or out of range; numbers are finite, and not negative, unless said otherwise.

    Numbers become Python's own, integers also numbers where the field is one: compiled code knows no others.

    Parameters
    ----------
    settings
        A dataclass, whose annotations say which types are right.
    least, most
        The range of some numbers.
    positive
        Numbers that must not be 0.
    may_be_infinite
        Numbers that may be.

    Raises
    ------
    InputError
        With the name of the field.
    """
    stage = type(settings).__name__
    for name, kind in kinds_of(settings).items():
        value: Any = getattr(settings, name)
        place = f"{stage}.{name}"
        if not has_kind(value, kind):
            raise InputError(f"{place} must be {describe_kind(kind)}; got {value!r}")
        if not _is_number(value):
            continue
        lowest, highest = (least or {}).get(name, 0), (most or {}).get(name, math.inf)
        if int in _options(kind):
            highest = min(highest, _LARGEST_COUNT)
        elif not (_is_finite(value) or (name in may_be_infinite and value == math.inf)):
            raise InputError(f"{place} must be finite; got {value}")
        if name in positive and value <= 0:
            raise InputError(f"{place} must be positive; got {value}")
        if value < lowest:
            problem = f"be at least {lowest}" if lowest else "not be negative"
            raise InputError(f"{place} must {problem}; got {value}")
        if value > highest:
            raise InputError(f"{place} must be at most {highest}; got {value}")
        object.__setattr__(settings, name, int(value) if int in _options(kind) else float(value))


def kinds_of(settings: Any) -> dict[str, Any]:
    """Return the types of all fields of a dataclass."""
    return _kinds_of_class(type(settings))  # type: ignore[arg-type]  # classes are hashable


@cache
def _kinds_of_class(stage: Any) -> dict[str, Any]:
    return {name: kind for name, kind in get_type_hints(stage).items() if name in stage.__dataclass_fields__}


def has_kind(value: object, kind: Any) -> bool:
    """Whether a value has a type, as numbers have it: 1 is a number, too, and ``True`` is none."""
    return any(_is_one(value, option) for option in _options(kind))


def _is_one(value: object, kind: Any) -> bool:
    if kind in {int, float}:
        return _is_number(value) and (kind is float or isinstance(value, Integral))
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(isinstance(item, str) or callable(item) for item in value)
    return isinstance(value, kind)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float is close to
        return False


def describe_kind(kind: Any) -> str:
    """Say what a value must be."""
    return " or ".join(
        "a tuple of plug-ins" if get_origin(option) is tuple else _name(option) for option in _options(kind)
    )


def _name(kind: type) -> str:
    return _TYPE_NAMES.get(kind, kind.__name__)


def _options(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)

"""Counts of what was tried and what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """What one check found.

    Attributes
    ----------
    tried
        How many tries there were; what a try is depends on the check.
    failures
        What went wrong, in words; empty if nothing did.
    counts
        How often things were seen that are worth telling, by name.
    worst
        Largest figures that were seen, by name.
    """

    tried: int = 0
    failures: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)

    def count(self, right: bool, what: str, tries: int = 1) -> None:
        """Count a try, or several that are judged together."""
        self.tried += tries
        if not right:
            self.failures.append(what)
            print(f"WRONG: {what}", flush=True)

    def note_worst(self, name: str, value: float) -> None:
        """Keep a figure if it is larger than before."""
        self.worst[name] = max(value, self.worst.get(name, value))

    def expect_no_error(
        self, action: Callable[[], object], what: str, allowed: type[Exception] | tuple[type[Exception], ...] = ()
    ) -> None:
        """Count one try that must not raise anything but what is allowed."""
        error = error_of(action, allowed)
        self.count(error == "", f"{what}: {error}")


def error_of(action: Callable[[], object], allowed: type[Exception] | tuple[type[Exception], ...] = ()) -> str:
    """Do something and return the error in words; empty if there was none, or only one that is allowed."""
    try:
        action()
    except allowed:
        return ""
    except Exception as error:  # noqa: BLE001  # anything else is what we are looking for
        return f"{type(error).__name__}: {error}"
    return ""

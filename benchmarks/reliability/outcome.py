"""Counts of what was tried and what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """What one kind of test found.

    Attributes
    ----------
    failures
        What went wrong, in words; empty if nothing did.
    note
        A figure worth showing, such as the worst time.
    """

    name: str
    tried: int = 0
    failures: list[str] = field(default_factory=list)
    note: str = ""

    def count(self, right: bool, what: str) -> None:
        """Count one try."""
        self.tried += 1
        if not right:
            self.failures.append(what)
            print(f"WRONG ({self.name}): {what}", flush=True)

    def expect_no_error(
        self, action: Callable[[], object], what: str, allowed: type[Exception] | tuple[type[Exception], ...] = ()
    ) -> None:
        """Count one try that must not raise anything but what is allowed."""
        try:
            action()
        except allowed:
            self.count(right=True, what=what)
        except Exception as error:  # noqa: BLE001  # anything else is what we are looking for
            self.count(right=False, what=f"{what}: {type(error).__name__}: {error}")
        else:
            self.count(right=True, what=what)

from collections.abc import Callable
from pathlib import Path

FileWriter = Callable[..., Path]
"""Writes text or bytes to a file, and returns its path."""

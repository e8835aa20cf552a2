"""Falsified certificates: every kind of tampering on certificates that the solver wrote, each to be rejected."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.record import markdown_table
from benchmarks.reliability.outcome import Outcome
from certimeans.certificate.check import verify
from certimeans.errors import CertimeansError
from certimeans.problem.instance import Instance
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance
from tests.oracles.tampering import FILE_TAMPERINGS, NEED_DATA, TAMPERINGS, NotApplicableError

_tried: Counter[str] = Counter()
_rejected: Counter[str] = Counter()


def tampering(count: int) -> Outcome:
    """Solve instances with constraints, some with a tree; falsify each certificate in every way that applies."""
    outcome = Outcome("tampered certificates")
    random = np.random.default_rng(8)
    with tempfile.TemporaryDirectory() as folder:
        whole, false = Path(folder) / "whole", Path(folder) / "false"
        for _ in range(count):
            instance = _instance(random)
            solve_instance(instance, Limits()).save(whole, report=False, overwrite=True)
            outcome.expect_no_error(lambda: verify(whole, instance=instance), "an honest certificate")  # noqa: B023
            for name, tamper in TAMPERINGS.items():
                content, arrays = _read(whole)
                try:
                    tamper(content, arrays)
                except NotApplicableError:
                    continue
                false.mkdir(exist_ok=True)
                (false / "certificate.json").write_text(json.dumps(content), encoding="utf-8")
                np.savez(false / "certificate.npz", **arrays)  # type: ignore[arg-type]
                given = instance if name in NEED_DATA else None
                _count(outcome, name, rejected=_is_rejected(lambda: verify(false, instance=given)))  # noqa: B023
            for name, damage in FILE_TAMPERINGS.items():
                shutil.copytree(whole, false, dirs_exist_ok=True)
                damage(false)
                _count(outcome, name, rejected=_is_rejected(lambda: verify(false)))
                shutil.rmtree(false)
    return outcome


def mutation_table() -> str:
    """Say for each kind of tampering how often it was tried and rejected."""
    rows = [(name.replace("_", " "), _tried[name], _rejected[name]) for name in sorted(_tried)]
    return f"{len(rows)} kinds of tampering:\n\n" + markdown_table(("tampering", "tried", "rejected"), rows)


def _is_rejected(verify: Callable[[], object]) -> bool:
    """Whether a falsified certificate is rejected with a clear error."""
    try:
        verify()
    except CertimeansError:
        return True
    return False


def _count(outcome: Outcome, name: str, *, rejected: bool) -> None:
    _tried[name] += 1
    _rejected[name] += rejected
    outcome.count(rejected, f"{name} was accepted")


def _instance(random: np.random.Generator) -> Instance:
    """Draw uniform points, which need a tree, and links of which some imply others."""
    k = int(random.integers(2, 8))
    n = int(random.integers(30, 70))
    hidden = random.integers(0, k, size=n)
    pairs = random.integers(0, n, size=(n, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    return Instance.create(random.random((n, 3)), k, must_link=pairs[same], cannot_link=pairs[~same])


def _read(folder: Path) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    with np.load(folder / "certificate.npz", allow_pickle=False) as arrays:
        return content, dict(arrays)

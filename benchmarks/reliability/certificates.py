"""Falsified certificates: named kinds of tampering, all to be rejected; random mutations, to prove nothing false."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability.answers import IN_MEMORY, WITHOUT_CUTS
from benchmarks.reliability.claims import MOST_POINTS, falsehood, is_same_instance, statement
from benchmarks.reliability.forgery import Forgery, clear
from benchmarks.reliability.genuine import ALL_KINDS, kind_of, write_genuine
from benchmarks.reliability.mutations import FILE_MUTATIONS, MUTATIONS
from benchmarks.reliability.outcome import Outcome
from certimeans.certificate.check import verify
from certimeans.certificate.verification import Verification
from certimeans.errors import CertimeansError
from certimeans.problem.instance import Instance
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance
from tests.oracles.certificates import Draft
from tests.oracles.tampering import FILE_TAMPERINGS, NEED_DATA, TAMPERINGS, NotApplicableError

MUTANTS = 100  # of each certificate
_ANOTHER = 100_000 * len(ALL_KINDS)  # a seed that far away has a certificate of the same kind
_NAMES = [*MUTATIONS, *FILE_MUTATIONS]
_ODDS = np.array([weight for _, weight in (*MUTATIONS.values(), *FILE_MUTATIONS.values())], dtype=float)


def mutated_certificates(seeds: range) -> Outcome:
    """Mutate each of the seeds' certificates a hundred times, and judge what the checker accepts by enumeration.

    Wrong is: a mutant is accepted, and the lower bound, the cost, the gap or ``result.json`` is false for the instance
    that the mutant states; or it is accepted as a certificate of the original data although it is about others; or
    anything but a clear refusal comes out; or the certificate is refused before it is mutated. Half of the mutants
    claim no bound, so that what their proofs are worth is computed, and that must not be above the optimum.
    """
    outcome = Outcome()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # damaged archives make zipfile complain
        folder = Path(name) / "certificate"
        for seed in seeds:
            clear(folder)
            write_genuine(seed + _ANOTHER, folder)
            other = Forgery.read(folder)  # for arrays and steps that do not belong
            clear(folder)
            instance = write_genuine(seed, folder)
            genuine = Forgery.read(folder)
            _Judge(outcome, genuine, instance, kind_of(seed)).honest(folder, seed)
            for number in range(MUTANTS):
                _mutate(outcome, genuine, other, instance, folder, seed, number)
    return outcome


def _mutate(
    outcome: Outcome,
    genuine: Forgery,
    other: Forgery,
    instance: Instance | None,
    folder: Path,
    seed: int,
    number: int,
) -> None:
    random = np.random.default_rng([seed, number, 13])
    names = _write_mutant(genuine, other, folder, random)
    judge = _Judge(outcome, genuine, instance, kind_of(seed))
    wrong = judge.wrong(folder, names, "ball" if number % 10 == 9 else "float")
    outcome.count(not wrong, f"seed {seed}, mutant {number} ({kind_of(seed)}; {', '.join(names)}): {wrong}")


def _write_mutant(genuine: Forgery, other: Forgery, folder: Path, random: np.random.Generator) -> list[str]:
    """Apply one to three mutations, and write the files; return the names of the mutations."""
    forged = copy.deepcopy(genuine)
    names: list[str] = []
    wanted = int(random.choice([1, 1, 1, 2, 3]))
    if random.random() < 0.5:
        _claim_nothing(forged, random)
    while not names:
        for name in random.choice(_NAMES, wanted, p=_ODDS / _ODDS.sum()):
            if name in MUTATIONS:
                try:
                    MUTATIONS[name][0](forged, other, random)
                except NotApplicableError:
                    continue
                except (KeyError, ValueError, TypeError, IndexError, AttributeError):
                    if not names:
                        raise
                    continue  # the mutation before has left nothing of the form that this one changes
            names.append(str(name))
    clear(folder)
    forged.write(folder)
    for name, (mutate, _) in FILE_MUTATIONS.items():  # in this order, whatever was drawn first: archives must be whole
        for _ in range(names.count(name)):
            mutate(folder, random)
    return names


def _claim_nothing(forged: Forgery, random: np.random.Generator) -> None:
    """Claim the least bound there is, and sometimes no clustering, so that nothing but the proof decides."""
    forged.content["lower_bound"] = None if forged.content["geometry"] == "gram" else 0.0
    forged.result = None
    if random.random() < 0.6:
        forged.content["objective"] = None
        forged.arrays.pop("labels", None)


class _Judge:
    """Says whether a mutant was rightly refused or rightly accepted."""

    def __init__(self, outcome: Outcome, genuine: Forgery, instance: Instance | None, kind: str) -> None:
        self.outcome, self.genuine, self.instance, self.kind = outcome, genuine, instance, kind

    def honest(self, folder: Path, seed: int) -> None:
        """Require that the certificate is verified as long as nothing was changed."""
        proven, error = _verified(folder, self.instance)
        wrong = error if proven is None else falsehood(self.genuine, proven)
        self.outcome.counts["genuine"] += 1
        if wrong:
            self.outcome.failures.append(f"seed {seed}: genuine: {wrong}")

    def wrong(self, folder: Path, names: list[str], arithmetic: Any) -> str:
        """Say what is wrong with what the checker says, or empty."""
        began = time.perf_counter()
        proven, error = _verified(folder, None, arithmetic)
        self.outcome.note_worst("seconds to verify", round(time.perf_counter() - began, 1))
        if proven is None:
            verdict = "refused" if not error else "failed"
        else:
            verdict, error = self.accepted(folder, proven)
        for name in (f"kind: {self.kind}", *(f"mutation: {name}" for name in dict.fromkeys(names))):
            self.outcome.counts[f"{name}: {verdict}"] += 1
        return error

    def accepted(self, folder: Path, proven: Verification) -> tuple[str, str]:
        """Judge what was accepted."""
        try:
            claim = Forgery.read(folder)
        except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
            return "accepted", f"accepted, but not readable by json and NumPy: {error}"
        is_same = is_same_instance(claim, self.genuine)
        upper = self.upper() if is_same and claim.content["n"] > MOST_POINTS else None
        wrong = falsehood(claim, proven, upper) or self.compared(folder, is_same)
        return "accepted and true" if is_same else "accepted and true of other data", wrong

    def upper(self) -> Fraction | None:
        """Return what the genuine clustering costs."""
        labels = self.genuine.arrays.get("labels")
        return None if labels is None else statement(self.genuine).cost(labels.tolist())

    def compared(self, folder: Path, is_same: bool) -> str:
        """Require that only what is about the original data is accepted together with these."""
        if self.instance is None:
            return ""
        proven, error = _verified(folder, self.instance)
        if error:
            return error
        if (proven is not None) != is_same:
            return "refused with its own data" if is_same else "accepted with other data than its own"
        return ""


def _verified(folder: Path, instance: Instance | None, arithmetic: Any = "float") -> tuple[Verification | None, str]:
    """Return what was proven, or ``None`` if it was refused; and an error that is no refusal."""
    try:
        return verify(folder, instance=instance, arithmetic=arithmetic), ""
    except CertimeansError as error:
        is_bug = "a bug in this checker" in str(error)  # a bound above the cost of a clustering: found, but too late
        return None, str(error) if is_bug else ""
    except Exception as error:  # noqa: BLE001  # anything else is what we are looking for
        return None, f"{type(error).__name__}: {error}"


def tampering(seeds: range) -> Outcome:
    """Solve instances with constraints; falsify each certificate in every way that applies.

    One certificate in four has a tree, and one in four is of a Gram matrix.
    """
    outcome = Outcome()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        whole, false = Path(folder) / "whole", Path(folder) / "false"
        for seed in seeds:
            instance = _write_constrained(seed, whole)
            verify(whole, instance=instance)
            content, _ = _plain(whole)
            outcome.counts["in all"] += 1
            outcome.counts["with a tree"] += len(content["proof"]) > 1
            outcome.counts["of a Gram matrix"] += content["geometry"] == "gram"
            for name, tamper in TAMPERINGS.items():
                draft = Draft(*_plain(whole))
                try:
                    tamper(draft.content, draft.arrays)
                except NotApplicableError:
                    continue
                clear(false)
                draft.write(false)
                given = instance if name in NEED_DATA else None
                _count(outcome, name, seed, lambda: verify(false, instance=given))  # noqa: B023
            for name, damage in FILE_TAMPERINGS.items():
                clear(false)
                shutil.copytree(whole, false, dirs_exist_ok=True)
                damage(false)
                _count(outcome, name, seed, lambda: verify(false))
    return outcome


def _plain(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a certificate without parts as the kinds of tampering take it."""
    content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    with np.load(folder / "certificate.npz", allow_pickle=False) as archive:
        return content, dict(archive)


def _count(outcome: Outcome, name: str, seed: int, action: Callable[[], object]) -> None:
    try:
        action()
    except CertimeansError:
        is_rejected = True
    else:
        is_rejected = False
    outcome.counts[f"{name.replace('_', ' ')}: rejected"] += is_rejected
    outcome.count(is_rejected, f"seed {seed}: {name} was accepted")


def _write_constrained(seed: int, folder: Path) -> Instance:
    """Write a certificate of an instance with links, and return the instance.

    Every fourth is drawn until its proof has several entries, without cuts so that this is soon; every fourth has a
    Gram matrix.
    """
    random = np.random.default_rng([8, seed])
    needs_tree = seed % 4 == 1
    while True:
        instance = _instance(random, by_products=seed % 4 == 3)
        result = solve_instance(instance, Limits(), settings=WITHOUT_CUTS if needs_tree else None)
        if not needs_tree or len(result.search_tree.proof()) > 1:
            result.save(folder, report=False, overwrite=True)
            return instance


def _instance(random: np.random.Generator, *, by_products: bool) -> Instance:
    """Draw uniform points, as they are or by their inner products, and links of which some imply others."""
    k = int(random.integers(2, 8))
    n = int(random.integers(30, 70))
    hidden = random.integers(0, k, size=n)
    pairs = random.integers(0, n, size=(n, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    points = random.random((n, 3))
    links: dict[str, Any] = {"must_link": pairs[same], "cannot_link": pairs[~same]}
    if by_products:
        products = points @ points.T
        return Instance.create(gram=(products + products.T) / 2, n_clusters=k, **links)
    return Instance.create(points, k, **links)

"""Random changes of certificates: of claims, instances, steps, arrays, ``result.json``, and of the bytes of the files.

Each mutation takes a certificate that was taken apart, the same of another certificate of the same kind, and random
numbers; it changes the first in place, and raises ``NotApplicableError`` if there is nothing to change in that way.
"""

from __future__ import annotations

import copy
import io
import math
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability.cheats import cheat
from benchmarks.reliability.forgery import Forgery, Step
from tests.oracles.tampering import NotApplicableError

Random = np.random.Generator
Mutation = Callable[[Forgery, Forgery, Random], None]

_FACTORS = (0.0, -1.0, 0.5, 2.0, 1000.0, 1e-3, 1 + 1e-6, 1 - 1e-6, 1 + 1e-15, 1e30, 1e-30, -1e6)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e-300, 5e-324, math.nan, math.inf, -math.inf, 1e9, 0.1)
_KINDS = (
    *("identical", "merge", "covariance", "relaxation", "size_blocks", "infeasible", "branch", "branch_sizes", "parts"),
    "regions",
    "trust me",
)


def _pick(random: Random, choices: Any) -> Any:
    if len(choices) == 0:
        raise NotApplicableError
    return choices[int(random.integers(len(choices)))]


def _number(value: float, random: Random) -> Any:
    """Change a number into another one, of the same type more often than not."""
    if isinstance(value, bool):
        return _pick(random, (not value, 1, 0, None))
    if isinstance(value, int):
        near = int(value + _pick(random, (-2, -1, 1, 2, 5)))
        return _pick(random, (near, near, near, 0, -1, -value, 10**9, float(value), str(value), None, 2**63))
    if random.random() < 0.7:
        return value * _pick(random, _FACTORS)
    return _pick(random, (*_FLOATS, math.nextafter(value, math.inf), math.nextafter(value, -math.inf), None, "1", []))


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, (list, dict)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[key], (*path, key))
    else:
        yield path


def _edit_somewhere(value: Any, random: Random) -> None:
    """Change one plain value of nested lists and dictionaries, or remove it."""
    *way, last = _pick(random, list(_places(value)))
    for key in way:
        value = value[key]
    old = value[last]
    if random.random() < 0.05:
        del value[last]
    elif isinstance(old, (bool, int, float)):
        value[last] = _number(old, random)
    else:
        value[last] = _pick(random, (None, 0, 1.0, "", [], *_KINDS, "points", "gram", "optimal", "infeasible"))


def _edit_array(arrays: dict[str, Any], name: str, random: Random) -> None:
    """Change an entry, some entries, all of them, their order, the shape or the type of an array."""
    values = arrays[name] = arrays[name].copy()
    how = random.integers(9)
    with np.errstate(all="ignore"):
        if how < 4 and values.size:
            for _ in range(1 + int(how == 3) * int(random.integers(1, 5))):
                at = int(random.integers(values.size))
                values.flat[at] = _entry(values, at, random)
        elif how == 4 and values.dtype.kind == "f":
            values[...] = values * values.dtype.type(_pick(random, _FACTORS[:9]))
        elif how == 5 and values.dtype.kind == "f":
            spread = values.dtype.type(np.abs(values).max(initial=1e-3))
            values[...] = values + spread * random.normal(size=values.shape).astype(values.dtype)
        elif how == 6 and values.size:
            random.shuffle(values.reshape(-1) if random.random() < 0.5 else values)
        elif how == 7 and values.ndim and len(values):
            rows = list(range(len(values)))
            at = int(random.integers(len(rows)))
            if random.random() < 0.5:
                rows.insert(at, at)
            else:
                rows.pop(at)
            arrays[name] = values[rows]
        elif how == 8:
            arrays[name] = _pick(
                random,
                (
                    values.astype(_pick(random, ("<f8", "<f4", "<i8", "<i4", "|i1", ">f8", "|b1"))),
                    values.reshape(-1),
                    values[None],
                    np.asfortranarray(values),
                    values[:0],
                ),
            )
        else:
            raise NotApplicableError


def _entry(values: Any, at: int, random: Random) -> Any:
    """Return another value for an entry: one near it, one of the others, or an odd one."""
    old = values.flat[at]
    if random.random() < 0.3:
        return values.flat[int(random.integers(values.size))]
    if values.dtype.kind == "f":
        odd = random.random() < 0.3
        return values.dtype.type(_pick(random, _FLOATS) if odd else old * _pick(random, _FACTORS))
    return values.dtype.type(int(np.clip(int(old) + int(_pick(random, (-3, -2, -1, 1, 2, 3))), -100, 100)))


# What is changed


def claims(forged: Forgery, _: Forgery, random: Random) -> None:
    """Change the bound, the objective or the labels."""
    what = _pick(random, ("lower_bound", "lower_bound", "objective", "both", "labels"))
    content = forged.content
    if what == "labels":
        if "labels" not in forged.arrays:
            raise NotApplicableError
        _edit_array(forged.arrays, "labels", random)
    elif what == "both":
        factor = _pick(random, _FACTORS)
        for key in ("lower_bound", "objective"):
            content[key] = None if content[key] is None else content[key] * factor
    else:
        content[what] = 1.0 if content[what] is None else _number(float(content[what]), random)


def instance(forged: Forgery, _: Forgery, random: Random) -> None:
    """Change the data, the constraints, k, or how costs are measured, and sign it again."""
    content, arrays = forged.content, forged.arrays
    names = [name for name in ("points", "gram", "weights", "must_link", "cannot_link", "capacity") if name in arrays]
    what = _pick(random, (*names, *names, "k", "standardize", "cluster_sizes", "links"))
    if what in names:
        _edit_array(arrays, what, random)
    elif what == "k":
        content["k"] += _pick(random, (-1, 1))
    elif what == "standardize":
        content["standardize"] = not content["standardize"]
    elif what == "cluster_sizes" and content.get("cluster_sizes"):
        _edit_somewhere(content["cluster_sizes"], random)
    elif what == "links":
        pair = np.sort(random.choice(content["n"], 2, replace=False))
        name = _pick(random, ("must_link", "cannot_link"))
        arrays[name] = np.unique(np.vstack([arrays[name], pair]), axis=0).astype("<i8")
    else:
        raise NotApplicableError
    try:
        forged.sign()
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return  # it is too damaged for a fingerprint, and will be refused for that


def numbers(forged: Forgery, _: Forgery, random: Random) -> None:
    """Change a plain value of a step."""
    steps = [step for proof in forged.proofs() for entry in proof for step in entry]
    _edit_somewhere(_pick(random, steps).plain, random)


def arrays(forged: Forgery, _: Forgery, random: Random) -> None:
    """Change an array of the proof."""
    holder = _pick(random, forged.holders())
    _edit_array(holder, _pick(random, sorted(holder)), random)


def foreign_arrays(forged: Forgery, other: Forgery, random: Random) -> None:
    """Put an array in the place of another of the same name, from here or from another certificate."""
    holder = _pick(random, forged.holders())
    name = _pick(random, sorted(holder))
    found = [arrays[name] for arrays in (*forged.holders(), *other.holders()) if name in arrays]
    replaced = _pick(random, found)
    if np.array_equal(replaced, holder[name]):
        raise NotApplicableError
    holder[name] = replaced.copy()


def missing_arrays(forged: Forgery, _: Forgery, random: Random) -> None:
    """Remove an array, or give it another name."""
    holder = _pick(random, forged.holders())
    values = holder.pop(_pick(random, sorted(holder)))
    if random.random() < 0.3:
        holder[_pick(random, ("rows", "groups", "slack", "size_multiplier", "shares", "trust_me"))] = values


def steps(forged: Forgery, other: Forgery, random: Random) -> None:
    """Drop, double, move or exchange steps and entries, with their arrays, or put in new ones."""
    proof = _pick(random, list(forged.proofs()))
    entry = _pick(random, proof)
    how = random.integers(7)
    if how == 0:
        entry.remove(_pick(random, entry))
    elif how == 1:
        entry.insert(int(random.integers(len(entry) + 1)), copy.deepcopy(_pick(random, entry)))
    elif how == 2:
        step = _pick(random, entry)
        entry.remove(step)
        target = _pick(random, proof)
        target.insert(int(random.integers(len(target) + 1)), step)
    elif how == 3:
        i, j = (int(x) for x in random.integers(len(proof), size=2))
        if i == j:
            raise NotApplicableError
        proof[i], proof[j] = proof[j], proof[i]
    elif how == 4:
        proof.remove(entry)
    elif how == 5:
        kind = _pick(random, ("covariance", "infeasible", "identical", "merge", "relaxation", "branch"))
        entry.insert(int(random.integers(len(entry) + 1)), Step(_new_step(kind, len(proof), forged, random)))
    else:
        entry[:] = copy.deepcopy(_pick(random, _pick(random, list(other.proofs()))))


def _new_step(kind: str, n_entries: int, forged: Forgery, random: Random) -> dict[str, Any]:
    pair = [int(i) for i in random.integers(forged.content["n"], size=2)]
    branch = {"pair": pair, "together": int(random.integers(n_entries + 1)), "apart": n_entries}
    return {"kind": kind, **(branch if kind == "branch" else {})}


def parts(forged: Forgery, other: Forgery, random: Random) -> None:
    """Drop, double or exchange parts, give them more weight, other members, or parts of another certificate."""
    step = _pick(random, _with_parts(forged, "parts"))
    how = random.integers(6)
    part = _pick(random, step.parts)
    if how == 0:
        step.parts.remove(part)
    elif how == 1:
        step.parts.append(copy.deepcopy(part))
    elif how == 2:
        weights = forged.arrays["weights"][part.arrays["members"]]
        part.arrays["shares"] = weights * _pick(random, (1.0, 0.5, 1 + 1e-15, 1.1, 2.0))
    elif how == 3:
        part.arrays.pop("shares", None)
    elif how == 4:
        rest = np.setdiff1d(np.arange(forged.content["n"]), part.arrays["members"])
        members = part.arrays["members"].copy()
        members[int(random.integers(len(members)))] = _pick(random, rest)
        part.arrays["members"] = np.sort(members)
    else:
        step.parts[:] = copy.deepcopy(_pick(random, _with_parts(other, "parts")).parts)


def _with_parts(forged: Forgery, kind: str) -> list[Step]:
    return [step for step in forged.steps() if step.parts and step.plain.get("kind") == kind]


def regions(forged: Forgery, other: Forgery, random: Random) -> None:
    """Drop, double or exchange proofs of regions, let them be about others, or move a point to another region."""
    step = _pick(random, _with_parts(forged, "regions"))
    proof, another = _pick(random, step.parts), _pick(random, step.parts)
    how = random.integers(7)
    if how == 0:
        step.parts.remove(proof)
    elif how == 1:
        step.parts.append(copy.deepcopy(proof))
    elif how == 2:
        proof.plain[_pick(random, sorted(proof.plain))] += int(_pick(random, (-1, 1, 2)))
    elif how == 3:
        proof.entries, another.entries = another.entries, proof.entries
    elif how == 4:
        proof.arrays, proof.entries = dict(another.arrays), copy.deepcopy(another.entries)
    elif how == 5 and random.random() < 0.8:
        region_of = step.arrays["regions"] = step.arrays["regions"].copy()
        region_of[int(random.integers(len(region_of)))] = int(random.integers(region_of.max() + 2))
        for part in step.parts:
            part.arrays["members"] = np.flatnonzero(region_of == part.plain["region"]).astype("<i8")
    else:
        found = _pick(random, _with_parts(other, "regions"))
        step.parts[:], step.arrays = copy.deepcopy(found.parts), copy.deepcopy(found.arrays)


def result(forged: Forgery, _: Forgery, random: Random) -> None:
    """Change what ``result.json`` says."""
    if forged.result is None:
        raise NotApplicableError
    name = _pick(random, ("status", "gap", "target_gap", "objective", "lower_bound", "labels", "n", "k"))
    old = forged.result[name]
    if isinstance(old, list):
        _edit_somewhere(old, random)
    elif isinstance(old, (int, float)):
        forged.result[name] = _number(old, random)
    else:
        forged.result[name] = _pick(random, ("optimal", "infeasible", "time_limit", None))


MUTATIONS: dict[str, tuple[Mutation, int]] = {
    "well-formed cheats": (cheat, 12),
    "claims": (claims, 4),
    "the instance": (instance, 3),
    "numbers of steps": (numbers, 2),
    "arrays of steps": (arrays, 6),
    "arrays of other steps": (foreign_arrays, 2),
    "arrays missing": (missing_arrays, 1),
    "steps and entries": (steps, 3),
    "parts": (parts, 3),
    "regions": (regions, 3),
    "result.json": (result, 2),
}


# The files


def bytes_of_files(folder: Path, random: Random) -> None:
    """Flip, insert, remove or double bytes of one of the files, or cut it off."""
    path = _pick(random, sorted(path for path in folder.rglob("*") if path.is_file()))
    path.write_bytes(_mutated(path.read_bytes(), random))


def bytes_of_arrays(folder: Path, random: Random) -> None:
    """Change bytes of an array within its archive, whose checksums are made anew."""
    path = _pick(random, sorted(folder.rglob("*.npz")))
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = _pick(random, sorted(files))
    files[name] = _mutated(files[name], random)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED if random.random() < 0.5 else zipfile.ZIP_STORED) as archive:
        for entry, data in files.items():
            archive.writestr(entry, data)
    path.write_bytes(stream.getvalue())


FILE_MUTATIONS = {"bytes of arrays": (bytes_of_arrays, 2), "bytes of files": (bytes_of_files, 3)}


def _mutated(data: bytes, random: Random) -> bytes:
    content = bytearray(data)
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(len(content) + 1)) if content else 0
        how = random.integers(6)
        if how < 3 and at < len(content):
            content[at] ^= 1 << int(random.integers(8))
        elif how == 3:
            content[at:at] = random.bytes(int(random.integers(1, 9)))
        elif how == 4:
            del content[at : at + int(random.integers(1, 9))]
        elif random.random() < 0.2:
            del content[at:]
        else:
            content[at : at + 4] = _pick(random, (b"\0\0\0\0", b"\xff\xff\xff\xff", b"1e99", b"true", b"null", b"0"))
    return bytes(content)

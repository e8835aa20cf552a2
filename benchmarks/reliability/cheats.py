"""Well-formed cheats: steps as a forger would write them who knows the format, each against one rule of the checker.

Random changes mostly weaken a proof or break its form. These keep the form and aim at a bound that is too high, so that
the one rule that forbids them has to notice. Same arguments as in ``mutations.py``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.reliability.forgery import Arrays, Forgery, Part, Step, entries_of
from tests.oracles.certificates import Branching, Draft
from tests.oracles.tampering import NotApplicableError

Random = np.random.Generator


def _choice(random: Random, found: list[Any]) -> Any:
    if not found:
        raise NotApplicableError
    return found[int(random.integers(len(found)))]


def _bounds(forged: Forgery, name: str) -> list[Step]:
    """List the steps, also those of parts, that have an array of this name."""
    return [step for proof in forged.proofs() for entry in proof for step in entry if name in step.arrays]


def _little(random: Random, size: int | tuple[int, ...]) -> Any:
    """Draw small positive numbers, all of one magnitude, most of them zero."""
    return (
        10.0 ** random.uniform(-5, 0.5) * random.random(size) * (random.random(size) < random.choice([0.1, 0.5, 1.0]))
    )


def negative_slack(forged: Forgery, random: Random) -> None:
    """Let entries of V be a little below zero, which raises the eigenvalues."""
    step = _choice(random, _bounds(forged, "slack"))
    slack = step.arrays["slack"]
    step.arrays["slack"] = (slack - _little(random, slack.shape)).astype(slack.dtype)


def negative_multipliers(forged: Forgery, random: Random) -> None:
    """Subtract a little from multipliers that must not be negative."""
    names = ("cut_multiplier", "size_multiplier", "link_multiplier")
    name = _choice(random, [name for name in names if any(step.arrays[name].size for step in _bounds(forged, name))])
    step = _choice(random, _bounds(forged, name))
    values = step.arrays[name]
    step.arrays[name] = random.choice([0.0, 1.0]) * values - _little(random, values.shape)


def cut_with_a_negative_multiplier(forged: Forgery, random: Random) -> None:
    """Add a cut that is not tight: with a negative multiplier it gains what it leaves room for."""
    arrays = _choice(random, _bounds(forged, "cut_start")).arrays
    size = int(arrays["groups"].max()) + 1
    members = random.permutation(size)[: random.integers(1, min(size, 4) + 1)].astype(np.int32)
    _append_cut(arrays, members, random.choice([-1, 1, 2], size=len(members)).astype(np.int8))
    arrays["cut_multiplier"][-1] = -(10.0 ** random.uniform(-5, 0.5))


def cut_with_a_member_twice(forged: Forgery, random: Random) -> None:
    """Add a cut with the same super-point several times: more than k of one would be a clique for nothing."""
    arrays = _choice(random, _bounds(forged, "cut_start")).arrays
    size = int(arrays["groups"].max()) + 1
    if random.random() < 0.5:
        members = np.full(forged.content["k"] + 1, random.integers(size), dtype=np.int32)
        coefficients = np.ones(len(members), dtype=np.int8)
    else:
        members = random.integers(0, size, size=3).astype(np.int32)
        members[1] = members[0]
        coefficients = random.choice([-1, 1, 2], size=3).astype(np.int8)
    _append_cut(arrays, members, coefficients)
    arrays["cut_multiplier"][-1] = 10.0 ** random.uniform(-5, 1.5)


def _append_cut(arrays: Arrays, members: Any, coefficients: Any) -> None:
    arrays["cut_member"] = np.append(arrays["cut_member"], members)
    arrays["cut_coefficient"] = np.append(arrays["cut_coefficient"], coefficients)
    arrays["cut_start"] = np.append(arrays["cut_start"], len(arrays["cut_member"]))
    arrays["cut_multiplier"] = np.append(arrays["cut_multiplier"], 0.0)
    if "block_start" in arrays:
        arrays["block_start"] = arrays["block_start"].copy()
        arrays["block_start"][-1] += 1


def link_of_sizes(forged: Forgery, random: Random) -> None:
    """Add a link to a relaxation by blocks: with a negative multiplier where it is not tight, or for any block."""
    arrays = _choice(random, _bounds(forged, "link")).arrays
    groups, n_blocks = arrays["groups"], len(arrays["row_multiplier"])
    labels, sizes = forged.arrays.get("labels"), forged.content["cluster_sizes"]["sizes"]
    i, j = random.choice(len(groups), 2, replace=False)
    block, sign = int(random.integers(n_blocks)), float(random.choice([-1.0, 1.0]))
    if labels is not None and sign < 0:
        # It is not tight if the two are in different clusters, neither of which has the size of the block.
        counts = np.bincount(labels)
        sizes_of_two = {float(counts[labels[i]]), float(counts[labels[j]])}
        others = [g for g, size in enumerate(sorted(set(sizes))) if size not in sizes_of_two]
        block = _choice(random, others) if labels[i] != labels[j] else block
    row = [block, *sorted([int(groups[i]), int(groups[j])])]
    if row[1] == row[2] or row in arrays["link"].tolist():
        raise NotApplicableError
    arrays["link"] = np.vstack([arrays["link"], row]).astype(np.int32)
    arrays["link_multiplier"] = np.append(arrays["link_multiplier"], sign * 10.0 ** random.uniform(-5, -1))


def clustering_as_a_proof(forged: Forgery, random: Random) -> None:
    """Say that the points form k super-points: the bound is then the cost of that clustering, good or bad."""
    forged.entries[:] = [[_coarse(forged, _partition(forged, random))]]


def merges_without_reason(forged: Forgery, random: Random) -> None:
    """Merge the points into k groups, with anything as reasons, and bound what is left."""
    groups = _partition(forged, random)
    step = Step({"kind": "merge"}, {"rows": _rows(groups, forged, random)})
    bound = _coarse(forged, groups) if random.random() < 0.5 else Step({"kind": "covariance"})
    forged.entries[:] = [[step, bound]]


def infeasible_without_reason(forged: Forgery, random: Random) -> None:
    """Decide on a few pairs, and call one side of each infeasible."""
    entries: list[list[Step]] = [[]]
    for _ in range(int(random.integers(1, 5))):
        i, j = (int(point) for point in random.choice(forged.content["n"], 2, replace=False))
        first = len(entries)
        sides = (
            {"together": first, "apart": first + 1}
            if random.random() < 0.5
            else {"together": first + 1, "apart": first}
        )
        entries[-1].append(Step({"kind": "branch", "pair": [i, j], **sides}))
        entries += [[Step({"kind": "infeasible"})], []]
    entries[-1].append(Step({"kind": "covariance"}))
    forged.entries[:] = entries


def branches_to_one_entry(forged: Forgery, random: Random) -> None:
    """Let both sides of a branch be one entry, or leave one of them out."""
    branches = [step for step in forged.steps() if step.plain.get("kind") == "branch"]
    if branches:
        step = _choice(random, branches)
        kept, other = random.permutation(["together", "apart"])
        step.plain[str(other)] = step.plain[str(kept)]
        return
    pair = [int(point) for point in random.choice(forged.content["n"], 2, replace=False)]
    branch = Step({"kind": "branch", "pair": pair, "together": 1, "apart": 1})
    forged.entries[:] = [[branch], [Step({"kind": "covariance"})]]


def one_side_of_a_branch(forged: Forgery, random: Random) -> None:
    """Branch on a few pairs; one side is bounded, and nothing is said of the other."""
    entries: list[list[Step]] = [[]]
    for _ in range(int(random.integers(1, 4))):
        pair = [int(point) for point in random.choice(forged.content["n"], 2, replace=False)]
        first = len(entries)
        entries[-1].append(Step({"kind": "branch", "pair": pair, "together": first + 1, "apart": first}))
        entries += [[], []]
    entries[-1].append(Step({"kind": "covariance"}))
    forged.entries[:] = entries


def identical_anyhow(forged: Forgery, random: Random) -> None:
    """Unite identical points, some of which are not free, or in an instance with fewer places than clusters."""
    if "points" not in forged.arrays:
        raise NotApplicableError
    if random.random() < 0.5:
        _crowd(forged, random)
    _, places = np.unique(forged.arrays["points"], axis=0, return_inverse=True)
    places = np.unique(places.reshape(-1), return_inverse=True)[1].reshape(-1)
    entries = _tree(forged, places, random)
    entries[0].insert(0, Step({"kind": "identical"}))
    forged.entries[:] = entries


def _tree(forged: Forgery, groups: Any, random: Random) -> list[list[Step]]:
    """Prove the optimum of some groups exactly, by branching down to single clusterings, if they are few."""
    k = forged.content["k"]
    together = [frozenset(np.flatnonzero(groups == group).tolist()) for group in range(int(groups.max()) + 1)]
    if not k < len(together) <= 5:
        return [[Step({"kind": "covariance"})]]
    draft = Draft({"n": forged.content["n"], "proof": [[]]}, {})
    apart = [(int(i), int(j)) for i, j in forged.arrays["cannot_link"]]
    Branching(draft, k, random, (1.0, 1.0)).extend(0, together, apart)
    return entries_of(draft.content["proof"], draft.arrays)


def _crowd(forged: Forgery, random: Random) -> None:
    """Put all points on about as many places as there are clusters, with few links, and claim nothing."""
    n, k = forged.content["n"], forged.content["k"]
    n_places = max(1, int(k + random.integers(-1, 3)))
    forged.arrays["points"] = forged.arrays["points"][random.integers(0, min(n, n_places), size=n)]
    pairs = [np.sort(random.choice(n, 2, replace=False)) for _ in range(int(random.integers(3)))]
    forged.arrays["must_link"] = np.zeros((0, 2), dtype=np.int64)
    forged.arrays["cannot_link"] = np.unique(np.array(pairs, dtype=np.int64).reshape(-1, 2), axis=0)
    forged.content.update(objective=None, lower_bound=0.0)
    forged.arrays.pop("labels", None)
    forged.result = None
    forged.sign()


def parts_that_overlap(forged: Forgery, random: Random) -> None:
    """Bound points in several parts that each have most of their weight: those that are there, again, or new ones."""
    if "points" not in forged.arrays:
        raise NotApplicableError
    known = [step for step in forged.steps() if step.parts and step.plain.get("kind") == "parts"]
    if known and random.random() < 0.5:
        step = _choice(random, known)
        step.parts += [copy.deepcopy(_choice(random, step.parts)) for _ in range(int(random.integers(1, 6)))]
        return
    n, parts = forged.content["n"], []
    factor = float(random.choice([0.5, 0.6, 0.9, 1.0]))
    for _ in range(int(random.integers(2, 12))):
        members = np.flatnonzero(random.random(n) < random.choice([0.7, 1.0]))
        if members.size == 0:
            raise NotApplicableError
        arrays = {"members": members.astype(np.int64)}
        if factor < 1 or random.random() < 0.5:
            arrays["shares"] = factor * forged.arrays["weights"][members]
        parts.append(Part(arrays, [[Step({"kind": "covariance"})]]))
    forged.entries[:] = [[Step({"kind": "parts"}, {}, parts)]]


def regions_anyhow(forged: Forgery, random: Random) -> None:
    """Call any sets of points regions, and bound each with all numbers of clusters, or with all but one."""
    if "points" not in forged.arrays:
        raise NotApplicableError
    n, k = forged.content["n"], forged.content["k"]
    region_of = random.integers(0, int(random.integers(2, 4)), size=n)
    if random.random() < 0.7:  # must-links stay within regions
        for _ in range(n):
            for i, j in forged.arrays["must_link"].tolist():
                region_of[j] = region_of[i] = min(region_of[i], region_of[j])
    region_of = np.unique(region_of, return_inverse=True)[1].reshape(-1).astype(np.int64)
    parts = []
    for region in range(int(region_of.max()) + 1):
        members = np.flatnonzero(region_of == region)
        for clusters in range(1, min(k, len(members)) + 1):
            about = {"region": region, "clusters": clusters}
            parts.append(Part({"members": members}, [[Step({"kind": "covariance"})]], about))
    if random.random() < 0.3:
        parts.pop(int(random.integers(len(parts))))
    forged.entries[:] = [[Step({"kind": "regions"}, {"regions": region_of}, parts)]]


def sizes_of_other_clusters(forged: Forgery, random: Random) -> None:
    """Branch on the size of a point's cluster, with the entries in another order, or with most of them empty."""
    branches = [step for step in forged.steps() if step.plain.get("kind") == "branch_sizes"]
    step = _choice(random, branches)
    entries = step.plain["entries"]
    if random.random() < 0.5 and len(entries) > 1:
        random.shuffle(entries)
    else:
        step.plain["point"] = int(random.integers(forged.content["n"]))


def _partition(forged: Forgery, random: Random) -> Any:
    """Draw k groups of the points: the labels of the clustering with a change or two, or any."""
    n, k = forged.content["n"], forged.content["k"]
    labels = forged.arrays.get("labels")
    groups = random.integers(0, k, size=n) if labels is None or random.random() < 0.3 else labels.copy()
    for _ in range(int(random.integers(1, 3))):
        groups[int(random.integers(n))] = int(random.integers(k))
    groups = np.unique(groups, return_inverse=True)[1].reshape(-1)
    if groups.max() + 1 < k:
        raise NotApplicableError
    return groups.astype(np.int64)


def _coarse(forged: Forgery, groups: Any) -> Step:
    """Make a relaxation of some groups without cuts and with V = 0."""
    size = int(groups.max()) + 1
    arrays = {
        "groups": groups.astype(np.int64),
        "cut_start": np.zeros(1, dtype=np.int64),
        "cut_member": np.zeros(0, dtype=np.int32),
        "cut_coefficient": np.zeros(0, dtype=np.int8),
        "cut_multiplier": np.zeros(0),
        "slack": np.zeros(size * (size + 1) // 2, dtype=np.float32),
    }
    if forged.content.get("cluster_sizes"):
        arrays["size_multiplier"] = np.zeros((size, 2))
    return Step({"kind": "relaxation", "unit": 1.0, "weight_unit": 1.0}, arrays)


def _rows(groups: Any, forged: Forgery, random: Random) -> Any:
    """Merge all points of each group; the reasons are points with cannot-links, if there are any."""
    k, links = forged.content["k"], np.unique(forged.arrays["cannot_link"])
    reasons = links if links.size and random.random() < 0.5 else np.arange(forged.content["n"])
    rows = []
    for group in range(int(groups.max()) + 1):
        first, *others = np.flatnonzero(groups == group).tolist()
        rows += [[first, other, *random.choice(reasons, k - 1).tolist()] for other in others]
    if not rows:
        raise NotApplicableError
    return np.array(rows, dtype=np.int64)


CHEATS: tuple[Callable[[Forgery, Random], None], ...] = (
    negative_slack,
    negative_slack,
    negative_multipliers,
    cut_with_a_negative_multiplier,
    cut_with_a_member_twice,
    link_of_sizes,
    clustering_as_a_proof,
    merges_without_reason,
    infeasible_without_reason,
    branches_to_one_entry,
    one_side_of_a_branch,
    identical_anyhow,
    parts_that_overlap,
    regions_anyhow,
    sizes_of_other_clusters,
)


def cheat(forged: Forgery, _: Forgery, random: Random) -> None:
    """Cheat in one of these ways; where sizes are prescribed, oftener in one that is about sizes."""
    if random.random() < 0.3 and (_bounds(forged, "link") or _bounds(forged, "size_multiplier")):
        about_sizes = (link_of_sizes, link_of_sizes, negative_multipliers, sizes_of_other_clusters)
        about_sizes[int(random.integers(len(about_sizes)))](forged, random)
        return
    CHEATS[int(random.integers(len(CHEATS)))](forged, random)

"""Whether a graph can be coloured with k colours, by exhaustive search on integers."""

from __future__ import annotations

from collections.abc import Mapping

from certimeans.errors import CertificateError

_MOST_WORK = 300_000_000  # vertices looked at; about a minute


def is_colourable(neighbours: Mapping[int, set[int]], k: int) -> bool:
    """Decide whether the vertices can have k colours so that neighbours differ.

    Raises
    ------
    CertificateError
        If that takes too long to decide: the question is NP-complete.
    """
    core = _core(neighbours, k)
    return all(_has_colouring(core, component, k) for component in _components(core))


def _core(neighbours: Mapping[int, set[int]], k: int) -> dict[int, set[int]]:
    """Drop vertices with fewer than k neighbours, repeatedly: they find a colour whatever the others have."""
    left = {vertex: set(others) for vertex, others in neighbours.items()}
    free = [vertex for vertex, others in left.items() if len(others) < k]
    while free:
        vertex = free.pop()
        if vertex not in left:
            continue
        for other in left.pop(vertex):
            left[other].discard(vertex)
            if len(left[other]) < k:
                free.append(other)
    return left


def _components(neighbours: Mapping[int, set[int]]) -> list[list[int]]:
    found, seen = [], set()
    for start in neighbours:
        if start in seen:
            continue
        seen.add(start)
        component = [start]
        for vertex in component:  # grows while it is read
            new = neighbours[vertex] - seen
            seen |= new
            component += new
        found.append(component)
    return found


def _has_colouring(neighbours: Mapping[int, set[int]], component: list[int], k: int) -> bool:
    """Colour the vertex with the fewest colours left first (DSATUR), and come back when one has none.

    Colours that no vertex has yet are interchangeable, so only the first of them is tried.
    """
    allowed = dict.fromkeys(component, (1 << k) - 1)
    left = set(component)
    tried: list[_Choice] = []
    used, work = 0, 0
    while left:
        work += len(left)
        if work > _MOST_WORK:
            raise CertificateError("it takes too long to decide whether the cannot-links leave room for k clusters")
        vertex = min(left, key=lambda v: (allowed[v].bit_count(), -len(neighbours[v]), v))
        left.remove(vertex)
        tried.append(_Choice(vertex, allowed[vertex] & ((2 << used) - 1), used))
        while tried:
            choice = tried[-1]
            for other in choice.changed:
                allowed[other] |= choice.colour
            if not choice.untried:
                left.add(choice.vertex)
                tried.pop()
                continue
            choice.colour = choice.untried & -choice.untried
            choice.untried ^= choice.colour
            choice.changed = [v for v in neighbours[choice.vertex] if v in left and allowed[v] & choice.colour]
            for other in choice.changed:
                allowed[other] ^= choice.colour
            if all(allowed[other] for other in choice.changed):
                used = max(choice.used, choice.colour.bit_length())
                break
        else:
            return False
    return True


class _Choice:
    """A coloured vertex: colours (as bits) not tried yet, and the neighbours that lost the present one."""

    def __init__(self, vertex: int, untried: int, used: int) -> None:
        self.vertex = vertex
        self.untried = untried
        self.used = used
        self.colour = 0
        self.changed: list[int] = []

"""Where the nodes of a search tree are drawn: leaves side by side, parents above the middle of their children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from certimeans.search.tree import TreeNode


@dataclass(frozen=True)
class PlacedNode:
    """A node and its place; ``hides`` tells that its children are not shown."""

    node: TreeNode
    x: float
    depth: int
    parent: PlacedNode | None
    hides: bool


def place_nodes(tree: Sequence[TreeNode], most: int) -> list[PlacedNode]:
    """Place the nodes of as many top levels as have at most ``most`` nodes together."""
    children: dict[int, list[TreeNode]] = {}
    for node in tree:
        children.setdefault(node.parent, []).append(node)
    levels = _levels(children, most)
    x = _columns(levels, children)
    placed: dict[int, PlacedNode] = {}
    for depth, level in enumerate(levels):
        for node in level:
            hides = depth == len(levels) - 1 and node.number in children
            placed[node.number] = PlacedNode(node, x[node.number], depth, placed.get(node.parent), hides)
    return list(placed.values())


def _levels(children: dict[int, list[TreeNode]], most: int) -> list[list[TreeNode]]:
    levels: list[list[TreeNode]] = []
    level, total = children.get(-1, []), 0
    while level and (not levels or total + len(level) <= most):
        levels.append(level)
        total += len(level)
        level = [child for node in level for child in children.get(node.number, [])]
    return levels


def _columns(levels: list[list[TreeNode]], children: dict[int, list[TreeNode]]) -> dict[int, float]:
    """Give each shown leaf a column of its own, from left to right, and every parent the middle of its children's."""
    shown = {node.number for level in levels for node in level}
    x: dict[int, float] = {}
    stack = list(reversed(levels[0])) if levels else []
    leaves = 0
    while stack:
        node = stack.pop()
        below = [child for child in children.get(node.number, []) if child.number in shown]
        if not below:
            x[node.number] = float(leaves)
            leaves += 1
        stack.extend(reversed(below))
    for level in reversed(levels):
        for node in level:
            if node.number not in x:
                places = [x[child.number] for child in children[node.number]]
                x[node.number] = sum(places) / len(places)
    return x

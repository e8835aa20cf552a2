"""Colours and marker shapes, the same in every picture, that colour-blind people can tell apart."""

from __future__ import annotations

from typing import NamedTuple

from certimeans.search.tree import TreeStatus

# Okabe and Ito's palette (Color Universal Design, 2008) without black, which vanishes on a dark page; grey instead.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#8C8C8C")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DARK_TEXT_ON = frozenset({"#E69F00", "#56B4E9", "#F0E442", "#CC79A7"})

CANNOT_LINK = "#E0334C"
INCUMBENT, BOUND = PALETTE[4], PALETTE[0]
UNASSIGNED = "#8C8C8C"

# Rare shades, so that the report can turn them into the page's own text and background colours, light or dark.
INK = "#1B1C1E"
PAPER = "#FEFEFD"


class Look(NamedTuple):
    """How a cluster is drawn, and the colour of text on it."""

    colour: str
    marker: str
    text: str


def cluster_look(cluster: int) -> Look:
    """Return the colour and marker of a cluster: 64 combinations, then they repeat."""
    colour = PALETTE[cluster % len(PALETTE)]
    marker = MARKERS[cluster // len(PALETTE) % len(MARKERS)]
    return Look(colour, marker, "#000000" if colour in _DARK_TEXT_ON else "#FFFFFF")


class NodeLook(NamedTuple):
    """How a node of the search tree is drawn."""

    colour: str
    marker: str
    meaning: str


NODE_LOOKS = {
    TreeStatus.BRANCHED: NodeLook(PALETTE[7], "o", "split in two"),
    TreeStatus.PRUNED: NodeLook(PALETTE[2], "s", "closed by its bound"),
    TreeStatus.INFEASIBLE: NodeLook(PALETTE[4], "X", "contradicts the constraints"),
    TreeStatus.OPEN: NodeLook(PALETTE[1], "D", "still open"),
    TreeStatus.GIVEN_UP: NodeLook(PALETTE[3], "v", "given up"),
}

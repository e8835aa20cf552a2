"""Bounds of parts add up, and uniting never lowers them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from certimeans.search.parts.cover import Cover, Known


def known(value: float, name: str) -> Known:
    """Make up a part whose clustering costs 10."""
    return Known(value, 10.0, [[{"kind": name}]], Path(name))


def test_a_united_part_counts_once_it_proves_more() -> None:
    """Of the sum of its parts and its own bound, the larger one counts, and its proof."""
    cover = Cover(3)
    for p, value in enumerate((8.0, 7.0, 9.0)):
        cover.take((p,), known(value, f"part{p}"))
    assert 23.9999 < cover.total() <= 24.0
    (pair,) = cover.unite([[(0,), (1,)]])
    assert pair == (0, 1)
    cover.take(pair, known(14.0, "worse"))
    assert [str(proof.file) for proof in cover.proofs()] == ["part2", "part0", "part1"]
    cover.take(pair, known(17.0, "better"))
    assert 25.9999 < cover.total() <= 26.0
    assert [str(proof.file) for proof in cover.proofs()] == ["part2", "better"]


def test_the_sum_is_rounded_down() -> None:
    """A thousand numbers that no float adds up without an error."""
    cover = Cover(1000)
    for p in range(1000):
        cover.take((p,), known(0.1, "x"))
    assert 99.99999 < Fraction(cover.total()) <= 1000 * Fraction(0.1)


def test_unions_are_restored_only_from_parts_that_make_them_up() -> None:
    """After a resumption: (0, 1) from its two parts, but not (1, 2), which overlaps it."""
    cover = Cover(3)
    assert cover.restore((0, 1))
    assert not cover.restore((1, 2))
    assert cover.restore((0, 1, 2))
    assert cover.tops == [(0, 1, 2)]


def test_parts_that_prove_nothing_are_left_out_of_the_proof() -> None:
    """Their weight costs at least 0 without any file."""
    cover = Cover(2)
    cover.take((0,), known(0.0, "nothing"))
    cover.take((1,), known(1.0, "something"))
    assert [str(proof.file) for proof in cover.proofs()] == ["something"]


def test_pieces_of_a_part_count_until_the_part_proves_more() -> None:
    """Two pieces prove 3 and 4, the part 6, then 8: its proof takes the place of theirs, which are given back."""
    cover = Cover(2)
    cover.put_inside((0,), [known(3.0, "a"), known(4.0, "b")])
    cover.take((0,), known(6.0, "worse"))
    assert cover.take_out((0,)) == []
    assert 6.9999 < cover.total() <= 7.0
    assert [str(proof.file) for proof in cover.proofs()] == ["a", "b"]
    cover.take((0,), known(8.0, "better"))
    assert [str(one.file) for one in cover.take_out((0,))] == ["a", "b"]
    cover.take((1,), known(1.0, "c"))
    assert [str(proof.file) for proof in cover.proofs()] == ["better", "c"]
    assert 8.9999 < cover.total() <= 9.0

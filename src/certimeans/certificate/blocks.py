r"""The bound of a relaxation with a block for each prescribed size; docs/certificate.md has the rule.

Notation and allowances are those of ``bound.py``. The vector a is u, the square roots of the shares of the weights:
amounts are proportional to these. For block g of the share p, entry (i, j) of its matrix is a sum of

- C, the cuts and V: as in ``bound.py``, with cuts in units of the total weight;
- (rho_i a_j + a_i rho_j) / 2, less p rho_i / a_i on the diagonal: products of at most four floats, each of which has
  fewer than 10 roundings;
- links: sums of at most s multipliers, times p, over a_i a_j: fewer than s + 60 roundings.

<V, Y> is rational on the diagonal; beside it, it is a sum of products with fewer than 30 roundings, summed over rows
and then over columns.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.certificate import ball
from certimeans.certificate.bound import _LARGEST, _SMALLEST_ROOT, _lowest_eigenvalues, _multiplied
from certimeans.certificate.exact import as_integers, power, rounded_down
from certimeans.certificate.geometry import EPS, TINY, Geometry, GramData, SuperPoints, factor
from certimeans.certificate.multipliers import BlockMultipliers, Multipliers

_SMALLEST_SHARE = 2.0**-1022  # of a super-point in a size: below, its rounding would not be relative
_NOTHING = Fraction(-(10**400))  # nothing is proven


class BlockTerms(NamedTuple):
    """The prescribed sizes as blocks.

    Attributes
    ----------
    amounts
        What each super-point counts.
    sizes, counts
        The different sizes in increasing order, and how often each occurs.
    closed
        For each block, where Y is 0; on its diagonal, which super-points are in no cluster of that size.
    """

    amounts: list[int]
    sizes: list[int]
    counts: list[int]
    closed: BoolArray

    @classmethod
    def of(cls, amounts: list[int], exact: list[int], decided: dict[int, int], forbidden: BoolArray) -> BlockTerms:
        """State which entries are 0: for cannot-links, too little room, and a decided size that is another one."""
        sizes = sorted(set(exact))
        closed = np.repeat(forbidden[None], len(sizes), axis=0)
        for block, size in zip(closed, sizes, strict=True):
            never = np.array([n > size or decided.get(a, size) != size for a, n in enumerate(amounts)])
            room = [size - n for n in amounts]
            for a, left in enumerate(room):
                block[a] |= np.array([n > left for n in amounts])
            np.fill_diagonal(block, val=False)
            block[never] = True
            block[:, never] = True
        return cls(amounts, sizes, [exact.count(size) for size in sizes], closed)

    def share(self, g: int) -> Fraction:
        """Return a size as a share of all."""
        return Fraction(self.sizes[g], sum(self.amounts))

    def least_of_slack(self, slack: FloatArray) -> Fraction:
        """Return what the sum of all <V, Y> is at least."""
        total = Fraction(0)
        integers, exponent = as_integers(np.ascontiguousarray(slack.diagonal(axis1=1, axis2=2)))
        for a, amount in enumerate(self.amounts):
            open_blocks = [g for g in range(len(self.sizes)) if not self.closed[g, a, a]]
            if open_blocks:  # else no clustering is left, and anything is true
                total += min(Fraction(int(integers[g, a]) * amount, self.sizes[g]) for g in open_blocks)
        total *= power(exponent)
        for g, size in enumerate(self.sizes):
            negative = np.where(self.closed[g], 0.0, np.minimum(slack[g], 0.0))
            np.fill_diagonal(negative, 0.0)
            shares = np.array([amount / size for amount in self.amounts])
            if not shares.min() >= _SMALLEST_SHARE:
                return _NOTHING
            roots = np.sqrt(shares)
            value = float((negative * roots[:, None] * roots).sum(axis=1).sum())
            if not math.isfinite(value):
                return _NOTHING
            total += Fraction(value - 2 * (factor(2 * len(roots) + 64) * abs(value) + TINY))
        return total


def slack_matrices(proof: BlockMultipliers) -> FloatArray:
    """Return all V."""
    full = np.zeros((len(proof.slack), proof.size, proof.size))
    first, second = np.triu_indices(proof.size)
    full[:, first, second] = full[:, second, first] = proof.slack
    return full


def link_tables(proof: BlockMultipliers) -> FloatArray:
    """Return the multipliers of links as a symmetric matrix for each block."""
    table = np.zeros((len(proof.slack), proof.size, proof.size))
    g, i, j = proof.links.T
    table[g, i, j] = table[g, j, i] = proof.link_multipliers
    return table


def _constant_terms(proof: BlockMultipliers, terms: BlockTerms, cuts: list[_BlockCuts]) -> Fraction:
    """Return what the bound has beside eigenvalues and T0, in units of U."""
    integers, exponent = as_integers(proof.link_multipliers)
    value = terms.least_of_slack(slack_matrices(proof)) - int(integers.sum()) * power(exponent)
    for g, count in enumerate(terms.counts):
        integers, exponent = as_integers(cuts[g].plain.multipliers)
        entries = cuts[g].entries_of_zero.tolist()
        right_sides = sum(int(mu) * (b * b - b) for mu, b in zip(integers, entries, strict=True))
        value -= right_sides * power(exponent) * count / terms.share(g)
    return value


class _BlockCuts(NamedTuple):
    """The cuts of a block without their point 0, and the entries b_0 of that."""

    plain: Multipliers
    entries_of_zero: IntArray

    def on_the_diagonal(self) -> tuple[IntArray, FloatArray]:
        """Return where cuts with the point 0 have 2 b_0 b_a mu more, and these numbers; products of floats."""
        cut = np.repeat(np.arange(len(self.entries_of_zero)), np.diff(self.plain.start))
        factors = 2 * self.entries_of_zero[cut] * self.plain.coefficients
        here = factors != 0
        return self.plain.members[here], (factors * self.plain.multipliers[cut])[here]


def _cuts_of_blocks(proof: BlockMultipliers, points: SuperPoints) -> list[_BlockCuts]:
    """Return the cuts and V of each block as those of a relaxation in units of the total weight."""
    weight = int(points.weights.sum()) * points.weight_unit
    return [_cuts_of(proof, g, weight) for g in range(len(proof.slack))]


def _cuts_of(proof: BlockMultipliers, g: int, weight: Fraction) -> _BlockCuts:
    first, last = int(proof.block_start[g]), int(proof.block_start[g + 1])
    begin, end = int(proof.start[first]), int(proof.start[last])
    members, coefficients = proof.members[begin:end], proof.coefficients[begin:end]
    cut = np.repeat(np.arange(last - first), np.diff(proof.start[first : last + 1]))
    is_zero = members == proof.size
    entries_of_zero = np.zeros(last - first, dtype=np.int64)
    entries_of_zero[cut[is_zero]] = coefficients[is_zero]
    counts = np.bincount(cut[~is_zero], minlength=last - first)
    plain = Multipliers(
        proof.groups,
        proof.size,
        proof.unit,
        weight,
        np.concatenate([[0], np.cumsum(counts)]),
        members[~is_zero],
        coefficients[~is_zero],
        proof.multipliers[first:last],
        proof.slack[g],
    )
    return _BlockCuts(plain, entries_of_zero)


def blocks_in_floats(data: Geometry, proof: BlockMultipliers, terms: BlockTerms) -> float:
    """Return a number that no clustering of the state costs less than; minus infinity if there is none in sight."""
    points = data.super_points(proof.groups, proof.size)
    if not points.direction.min() > _SMALLEST_ROOT:
        return -math.inf
    cuts, tables = _cuts_of_blocks(proof, points), link_tables(proof)
    spectral, diagonal = Fraction(0), np.diag_indices(proof.size)
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        between = data.between(points, proof.unit)
        for g, count in enumerate(terms.counts):
            rest = _multiplied(points, cuts[g].plain, terms.closed[g])
            more, error = _rows_and_links(points.direction, proof.rows[g], tables, g, float(terms.share(g)))
            places, values = cuts[g].on_the_diagonal()
            of_zero, size_of_zero = (np.bincount(places, v, proof.size) for v in (values, np.abs(values)))
            more[diagonal] -= of_zero / points.direction**2
            error[diagonal] += factor(len(values) + 96) * size_of_zero / points.direction**2 + TINY
            error += between.error + 8 * EPS * (np.abs(between.matrix) + np.abs(rest) + np.abs(more))
            matrix = rest + more - between.matrix - 2 * error
            if not np.abs(matrix).max() < _LARGEST:  # also if it is not a number
                return -math.inf
            value, allowance = _lowest_eigenvalues(np.minimum(matrix, matrix.T), count)
            share = value - 2 * (allowance + 4 * EPS * abs(value))
            if not math.isfinite(share):
                return -math.inf
            spectral += Fraction(share)
    return rounded_down(between.constant + proof.unit * (_constant_terms(proof, terms, cuts) + spectral))


def _rows_and_links(
    roots: FloatArray, rows: FloatArray, tables: FloatArray, g: int, share: float
) -> tuple[FloatArray, FloatArray]:
    """Return the matrix of the equations and that of the links of a block together, and a bound on its error."""
    outer = np.outer(rows, roots)
    everything = tables.sum(axis=0)
    quotient = 0.5 * share / np.outer(roots, roots)
    total = 0.5 * (outer + outer.T) + quotient * (everything - 2 * tables[g])
    sizes = 0.5 * (np.abs(outer) + np.abs(outer.T)) + quotient * (everything + 2 * tables[g])
    diagonal = np.diag_indices(len(roots))
    of_rows, of_links = share * rows / roots, share * tables[g].sum(axis=1) / (roots * roots)
    total[diagonal] += of_links - of_rows  # no link is on the diagonal
    sizes[diagonal] += of_links + np.abs(of_rows)
    return total, factor(len(roots) + len(tables) + 96) * sizes + TINY


def blocks_in_balls(data: Geometry, proof: BlockMultipliers, terms: BlockTerms) -> float:
    """Return the same by ball arithmetic."""
    import flint  # noqa: PLC0415

    with flint.ctx.workprec(ball._PRECISION), np.errstate(all="ignore"):
        points = data.super_points(proof.groups, proof.size)
        between, constant = ball._between(data, points, proof.unit)
        moved = Fraction(0)
        if isinstance(data, GramData):
            between, moved = _centred(between, points)
        spectral: Fraction = Fraction(0)
        cuts = _cuts_of_blocks(proof, points)
        for g, count in enumerate(terms.counts):
            matrix = _balls_of_block(points, proof, terms, g, cuts[g]) - between
            matrix -= ball._rest(points, cuts[g].plain, terms.closed[g])
            share = ball._lower(ball._lowest_eigenvalues(matrix, count))
            if share is None:
                return -math.inf
            spectral += share
    return rounded_down(constant + proof.unit * (_constant_terms(proof, terms, cuts) + spectral + moved))


def _centred(between: Any, points: SuperPoints) -> tuple[Any, Fraction]:
    """Move the origin of a Gram matrix to the mean, nearly: <B, Y> = <B - ah' - ha', Y> + 2 h'a for any vector h."""
    from flint import arb_mat  # noqa: PLC0415

    total = int(points.weights.sum())
    roots = arb_mat(points.size, 1, [ball._ball(Fraction(w, total)).sqrt() for w in points.weights.tolist()])
    middle = ball._midpoints(between)
    image = middle @ points.direction
    half = arb_mat(points.size, 1, (image - 0.5 * float(points.direction @ image) * points.direction).tolist())
    outer = roots * half.transpose()
    moved = ball._lower(-2 * (half.transpose() * roots)[0, 0])
    return between - outer - outer.transpose(), Fraction(-(10**400)) if moved is None else moved


def _balls_of_block(points: SuperPoints, proof: BlockMultipliers, terms: BlockTerms, g: int, cuts: _BlockCuts) -> Any:
    """Return the matrix of the equations and that of the links of a block together."""
    from flint import arb, arb_mat  # noqa: PLC0415

    size, total = proof.size, int(points.weights.sum())
    roots = [ball._ball(Fraction(w, total)).sqrt() for w in points.weights.tolist()]
    rows = [arb(float(rho)) for rho in proof.rows[g]]
    share = ball._ball(terms.share(g))
    result = arb_mat(size, size)
    for i in range(size):
        for j in range(i, size):
            result[i, j] = result[j, i] = (rows[i] * roots[j] + roots[i] * rows[j]) / 2
        result[i, i] -= share * rows[i] / roots[i]
    start, members, coefficients = cuts.plain.start, cuts.plain.members, cuts.plain.coefficients
    for c, (b_0, mu) in enumerate(zip(cuts.entries_of_zero.tolist(), cuts.plain.multipliers.tolist(), strict=True)):
        for place in range(start[c], start[c + 1]) if b_0 else ():
            a = members[place]
            result[a, a] -= 2 * b_0 * int(coefficients[place]) * arb(mu) / (roots[a] * roots[a])
    for (h, i, j), value in zip(proof.links.tolist(), proof.link_multipliers.tolist(), strict=True):
        multiplier = arb(value)
        term = share * multiplier / (2 * roots[i] * roots[j])
        for a, b in ((i, j), (j, i)):
            result[a, b] += -term if h == g else term
        if h == g:
            for a in (i, j):
                result[a, a] += share * multiplier / (roots[a] * roots[a])
    return result

"""How a problem is split, how large its parts are, and how much effort each is worth."""

from __future__ import annotations

from dataclasses import dataclass

from certimeans.errors import InputError
from certimeans.setting_checks import check_settings


@dataclass(frozen=True)
class PartSettings:
    """Splitting, sizes of parts, and the effort for each.

    Attributes
    ----------
    largest_whole
        With ``part_size="auto"``, problems of more super-points are bounded by parts.
    smallest, largest
        Range of automatic sizes of parts, in super-points.
    per_cluster
        Super-points per cluster in a part of the first size that is tried.
    largest_block
        Most super-points that are kept in one part because of cannot-links; no more than a quarter of it.
    sweeps, partners
        Sweeps of exchanges that match the means of clusters, and partners tried for each block in a sweep.
    match_shapes
        Whether the exchanges match second moments, too.
    share_above
        A super-point is shared by all parts if it adds more than this share of what it costs, in a part, to merge the
        two closest clusters: a part might rather give it a cluster of its own.
    most_shared
        Shared super-points at most, as a share of the size of a part.
    share_more
        If parts lose more than this share of the gap by clusterings of their own, more super-points are shared, and
        their shares are tuned.
    share_above_then, most_shared_then
        ``share_above`` and ``most_shared`` in that case.
    heavy
        A super-point of several points is divided between parts if it weighs more than this share of a part.
    searches
        Descents of the local search in each part.
    relaxation_share
        Relaxations of parts may lose what their own clusterings leave of the gap asked for, or this share of the larger
        of the two if that is more.
    patience
        Where parts have no more than their share of the time, or must stay as they are, their bounds are given up if so
        many times what they gained in the second half of all iterations does not reach the target; elsewhere larger
        parts may be the better way, and the loop's own patience counts.
    margin
        Share of the gap asked for that parts aim at; the rest is for what cannot be foreseen.
    seconds_per_task
        Small parts are handed to workers in batches that take about so long.
    """

    largest_whole: int = 2_500
    smallest: int = 100
    largest: int = 2_500
    per_cluster: int = 80
    largest_block: int = 100
    sweeps: int = 20
    partners: int = 8
    match_shapes: bool = True
    share_above: float = 0.3
    most_shared: float = 0.2
    share_more: float = 0.8
    share_above_then: float = 0.05
    most_shared_then: float = 0.3
    heavy: float = 0.25
    searches: int = 8
    relaxation_share: float = 0.2
    patience: float = 10.0
    margin: float = 0.93
    seconds_per_task: float = 0.5

    def __post_init__(self) -> None:
        check_settings(
            self, positive=vars(self), may_be_infinite=("share_above", "share_more", "share_above_then", "heavy")
        )
        if self.smallest > self.largest:
            raise InputError(f"PartSettings.smallest must be at most largest; got {self.smallest} and {self.largest}")

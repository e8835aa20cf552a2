"""A result in a few lines, and as plain data: what is printed, and what ``--json`` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from certimeans._version import __version__
from certimeans.printing import percent_up, regions_in_words, text_down, text_up
from certimeans.status import finite_or_none

if TYPE_CHECKING:
    from certimeans.result import SolveResult  # which imports this


def summary_of(result: SolveResult) -> str:
    """Say in a few lines what was solved and what is proven."""
    left_out = 0 if result.reduction is None else len(result.reduction.weightless)
    rows = 0 if result.source is None else result.source.n_rows
    dropped = 0 if result.source is None else rows - len(result.source.row_of_point)
    lines = [
        f"{result.instance}",
        *([f"left out     {left_out} of weight zero"] if left_out else []),
        *([f"left out     {dropped} of {rows} rows, for missing values"] if dropped else []),
        f"status       {result.status}{f' ({result.message})' if result.message else ''}",
        f"objective    {text_up(result.objective, 10)}",
        f"lower bound  {text_down(result.lower_bound, 10)}  (proven)",
        f"gap          {percent_up(result.gap)}",
        f"nodes        {result.nodes}",
        *([f"parts        {described}"] if (described := describe_parts(result)) else []),
        *([f"regions      {described}"] if (described := describe_regions(result)) else []),
        f"time         {result.seconds:.2f} s",
    ]
    return "\n".join(lines)


def describe_parts(result: SolveResult) -> str:
    """Say in a sentence how the points were bounded by parts; nothing if they were bounded together."""
    parts = result.statistics.parts
    if parts is None:
        return ""
    n = result.instance.n_points
    said = f"{n:,} points were bounded in {parts.count:,} parts of about {round(n / parts.count):,}"
    if parts.count == 1:
        said = f"{n:,} points were bounded in one part"
    if parts.bounded > parts.count:
        said += ", some of them in smaller pieces"
    if parts.shared and parts.count > 1:
        said += f", which share {parts.shared:,} of them by weight"
    if parts.links_left_out:
        said += (
            f"; the bound does without {parts.links_left_out:,} of {parts.links:,} cannot-links, which join "
            "different parts (the clustering keeps them all)"
        )
    if result.instance.limits is not None:
        said += "; the bound does without the limits on sizes (the clustering keeps them)"
    return said


def describe_regions(result: SolveResult) -> str:
    """Say in a sentence in which regions the points lie; nothing if there is only one."""
    regions = result.statistics.regions
    return "" if regions is None else regions_in_words(regions.points)


def plain_data_of(result: SolveResult) -> dict[str, Any]:
    """Return a result as plain data, as ``certimeans solve --json`` prints it."""
    return {
        "status": str(result.status),
        "message": result.message,
        "objective": finite_or_none(result.objective),
        "lower_bound": finite_or_none(result.lower_bound),
        "gap": finite_or_none(result.gap),
        "target_gap": result.target_gap,
        "root_lower_bound": finite_or_none(result.root_lower_bound),
        "root_gap": finite_or_none(result.root_gap),
        "root_time": result.root_seconds,
        "nodes": result.nodes,
        "time": result.seconds,
        "n": result.instance.n_points,
        "d": result.instance.n_features if result.instance.geometry == "points" else None,
        "k": result.instance.n_clusters,
        "must_links": len(result.instance.must_link),
        "cannot_links": len(result.instance.cannot_link),
        **_sizes(result),
        "size": result.size,
        "cuts": result.cuts,
        "rounds": result.rounds,
        "parts": result.parts,
        "part_size": result.part_size,
        "regions": [] if result.statistics.regions is None else list(result.statistics.regions.points),
        "labels": result.row_labels(),
        "weightless": [] if result.reduction is None else result.reduction.weightless.tolist(),
        "missing": {} if result.source is None else result.source.missing,
        "notes": list(result.notes),
        "seed": result.seed,
        "version": __version__,
    }


def _sizes(result: SolveResult) -> dict[str, Any]:
    """Return what was stated about sizes, and the sizes: points, or sums of capacities, by cluster."""
    stated, limits, clustering = result.instance.constraints.cluster_sizes, result.instance.limits, result.clustering
    totals: list[float] | None = None
    if clustering is not None and limits is not None:
        totals = [limits.as_number(t) for t in limits.totals(clustering.labels, clustering.n_clusters)]
    elif clustering is not None:
        totals = clustering.sizes.tolist()
    return {
        "size_min": None if stated is None else stated.size_min,
        "size_max": None if stated is None else stated.size_max,
        "sizes": None if stated is None or stated.sizes is None else list(stated.sizes),
        "cluster_sizes": totals,
    }

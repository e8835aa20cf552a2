"""DataFrames for those who have pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from certimeans.errors import InputError

if TYPE_CHECKING:
    from certimeans.result import SolveResult

CLUSTER = "cluster"


def pandas() -> Any:
    """Import pandas, or say how to get it."""
    try:
        import pandas as pd  # noqa: PLC0415
    except ImportError:
        raise InputError("this returns a DataFrame, which needs pandas: pip install 'certimeans[tables]'") from None
    return pd


def cluster_title(titles: tuple[str, ...] | list[str]) -> str:
    """Return a title for the column of clusters that no other column has."""
    title, number = CLUSTER, 2
    while title in titles:
        title, number = f"{CLUSTER}_{number}", number + 1
    return title


def as_frame(result: SolveResult) -> Any:
    """Return the user's rows and columns with the cluster of each row."""
    pd = pandas()
    source, instance = result.source, result.instance
    if source is not None and source.frame is not None:
        frame = source.frame.copy()
    elif source is not None and source.rows is not None:
        titles = source.titles or [f"column {c}" for c in range(len(source.rows[0]))]
        frame = pd.DataFrame(list(source.rows), columns=list(titles))
    else:
        table = instance.table if result.reduction is None else result.reduction.table
        frame = pd.DataFrame(table) if instance.geometry == "points" else pd.DataFrame(index=range(len(table)))
        if instance.feature_names is not None and instance.geometry == "points":
            frame.columns = list(instance.feature_names)
    labels = result.row_labels()
    if labels is None:
        labels = [None] * len(frame)
    kind = "Int64" if None in labels else "int64"
    frame[cluster_title([str(title) for title in frame.columns])] = pd.array(labels, dtype=kind)
    return frame

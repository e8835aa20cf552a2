"""Pictures of a result: each function draws on given or new matplotlib axes and returns them; see :mod:`.figures`."""

from certimeans.report.cluster_plots import plot_centres, plot_clusters, plot_sizes
from certimeans.report.search_plots import plot_bounds, plot_gap, plot_tree

__all__ = ["plot_bounds", "plot_centres", "plot_clusters", "plot_gap", "plot_sizes", "plot_tree"]

"""The methods that certimeans is compared with: heuristics of the literature for constrained k-means.

Each takes an instance and a seed and returns a :class:`~certimeans.problem.clustering.Clustering`, or ``None`` where
the method fails.
"""

from certimeans.baselines.blpkm import blpkm
from certimeans.baselines.cop_kmeans import cop_kmeans
from certimeans.baselines.post_processing import post_processing

__all__ = ["blpkm", "cop_kmeans", "post_processing"]

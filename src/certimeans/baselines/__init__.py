"""The methods that certimeans is compared with: heuristics of the literature for constrained k-means, and an exact one.

Each heuristic takes an instance and a seed and returns a :class:`~certimeans.problem.clustering.Clustering`, or
``None`` where the method fails. The exact method, ``rbba``, takes a time limit instead.
"""

from certimeans.baselines.blpkm import blpkm
from certimeans.baselines.cop_kmeans import cop_kmeans
from certimeans.baselines.post_processing import post_processing
from certimeans.baselines.rbba import EnumerationOutcome, rbba

__all__ = ["EnumerationOutcome", "blpkm", "cop_kmeans", "post_processing", "rbba"]

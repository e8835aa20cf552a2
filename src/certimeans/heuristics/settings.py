"""How the search for a good clustering is tuned: every number that may be changed without breaking anything."""

from __future__ import annotations

from dataclasses import dataclass

from certimeans.errors import InputError
from certimeans.setting_checks import check_settings

# The smallest allowed value of each field; a field without an entry must not be negative.
_LEAST = {
    "n_searches": 1,
    "population": 2,
    "max_visits": 1,
    "islands": 1,
    "most_dense_searches": 1,
    "patience": 1,
    "draws_per_centre": 1,
    "longest_path": 1,
    "price_growth": 1,
    "random_tabu": 1,
    "batch": 1,
    "sample_searches": 1,
    "quick_sample_searches": 1,
    "linked_searches": 1,
    "sample_size": 1,
    "judging_sample": 1,
    "finalists": 1,
    "evaluations_per_call": 1,
}
_SHARES = ("share_of_fresh_starts", "share_of_mixed_labels")


@dataclass(frozen=True)
class SearchSettings:
    """How much to search, and how.

    Attributes
    ----------
    n_searches
        Number of descents to a local optimum. On a dense cannot-link graph, where seeds would differ otherwise, more
        are made while improvements keep coming, see ``patience``, ``most_dense_searches`` and ``islands``.
    population
        Number of local optima that survive a selection; twice as many live before it.
    max_visits
        Most visits of super-points in all descents together: what ends the search of many points.
    links_of_dense_graph
        A cannot-link graph counts as dense if it has more links than this for each super-point (or if assigning in
        order may fail).
    patience
        On a dense graph the search goes on until it is this many times as long as at its last improvement.
    most_dense_searches
        On a dense graph there are at most this many times ``n_searches`` descents for each population.
    islands
        Number of populations on a dense graph, one after the other: each may settle on another clustering.
    visits_before_mixing
        The first starts have fresh centres: as many as the population, but not more than fit into ``max_visits`` if
        each visits every super-point this often. Where descents are long, few start from fresh centres.
    share_of_fresh_starts
        Share of later starts that have fresh centres, too; the others have parents.
    share_of_mixed_labels
        Share of starts with parents that mix labels instead of centres, on dense graphs.
    draws_per_centre
        A fresh centre is the best of this many draws.
    quick_tries, thorough_tries
        Most moves tried in one ejection tree: usually, and for a clustering that is the best so far.
    longest_path
        Most moves on one path down an ejection tree.
    least_price, most_price
        Range of the price of a broken cannot-link when mending begins, in units of the mean cost of a super-point in
        the best clustering known.
    start_price
        The same for a start that the caller gave, in units of the mean scatter of a super-point.
    price_growth, price_rises
        Factor by which the price rises when the descent leaves cannot-links broken, and how often.
    tabu_steps
        Steps of the tabu search that mends what is left then.
    shortest_tabu, random_tabu
        A super-point must not return to a cluster for ``shortest_tabu`` steps and up to ``random_tabu`` more.
    same_cost
        Two local optima whose costs differ relatively by at most this are taken for one.
    largest_gram
        Most super-points (if their vectors are known) that are represented by the Gram matrix of their means: 2,500
        take 50 MB.
    largest_cheap_dimension
        Vectors of at most this dimension are used as they are: a distance takes no longer than one look-up.
    largest_without_sample
        With more super-points than this, samples are searched for centres first, and then one start descends.
    sample_size, samples, sample_searches
        How large these samples are, how many there are without links, and how many descents each is worth.
    quick_sample_searches
        Descents in the sample that leads to the very first clustering.
    linked_samples, linked_searches
        Number of samples that keep the links of their members, if there are links, and of descents in each.
    judging_sample
        Centres from all samples are compared on one of this size.
    finalists
        How many different sets of centres are then refined on all points.
    least_gain_of_pass, least_gain_of_round
        Refinement, and the descent of very many points, end when a pass over all of them gains less than the first
        share of the cost; assignment and refinement under links in turn end when a round gains less than the second.
    batch
        Most children made and improved by one call of compiled code; with many points there is one in a call. It
        keeps the share of Python small for some hundred points.
    evaluations_per_call
        About how many distances compiled code computes (times their dimension) before it looks at the clock.
    """

    n_searches: int = 300
    population: int = 15
    max_visits: int = 20_000_000
    links_of_dense_graph: float = 1.5
    patience: int = 3
    most_dense_searches: int = 4
    islands: int = 3
    visits_before_mixing: int = 100
    share_of_fresh_starts: float = 0.1
    share_of_mixed_labels: float = 0.5
    draws_per_centre: int = 3
    quick_tries: int = 100
    thorough_tries: int = 10_000
    longest_path: int = 12
    least_price: float = 2.0
    most_price: float = 4.0
    start_price: float = 0.05
    price_growth: float = 1.5
    price_rises: int = 16
    tabu_steps: int = 300
    shortest_tabu: int = 5
    random_tabu: int = 10
    same_cost: float = 1e-9
    largest_gram: int = 2_500
    largest_cheap_dimension: int = 8
    largest_without_sample: int = 50_000
    sample_size: int = 20_000
    samples: int = 4
    sample_searches: int = 40
    quick_sample_searches: int = 3
    linked_samples: int = 2
    linked_searches: int = 10
    judging_sample: int = 100_000
    finalists: int = 3
    least_gain_of_pass: float = 1e-7
    least_gain_of_round: float = 1e-5
    batch: int = 10
    evaluations_per_call: int = 300_000

    def __post_init__(self) -> None:
        check_settings(self, least=_LEAST, most=dict.fromkeys(_SHARES, 1))
        if self.sample_size > self.largest_without_sample:
            raise InputError(
                f"sample_size must be at most largest_without_sample; got {self.sample_size} and "
                f"{self.largest_without_sample}"
            )
        if self.least_price > self.most_price or self.least_price <= 0:
            raise InputError(
                f"least_price must be positive and at most most_price; got {self.least_price} and {self.most_price}"
            )

from certimeans import solve
from certimeans.search.statistics import NodeWork, RunStatistics, Tally, peak_memory
from tests.search.test_solve import hard_points


def test_work_adds_up() -> None:
    """Field by field."""
    assert NodeWork(1, 2, 0.5) + NodeWork(3, 4, 0.25, bound_seconds=1.0) == NodeWork(4, 6, 0.75, bound_seconds=1.0)


def test_a_node_that_is_taken_up_again_counts_once() -> None:
    """Its work counts each time; a resumed search goes on with what was counted before."""
    tally = Tally(RunStatistics(nodes=5, work=NodeWork(rounds=10)))
    tally.count_node(NodeWork(rounds=1), is_new=True)
    tally.count_node(NodeWork(rounds=2), is_new=False)
    tally.count_abandoned()
    tally.note_root(2.5, cuts=7, seconds=0.5)
    expected = RunStatistics(6, 1, 0, 7, 2.5, 0.5, work=NodeWork(rounds=13))
    assert tally.statistics() == expected


def test_the_result_carries_the_statistics_whole() -> None:
    """What the search counted is what the result says and what goes into its JSON."""
    result = solve(hard_points(), 8, max_nodes=2)
    statistics = result.statistics
    assert (statistics.nodes, statistics.size, statistics.abandoned) == (2, 90, 0)
    plain = result.to_dict()
    assert [plain[key] for key in ("nodes", "cuts", "rounds", "size", "time")] == [
        statistics.nodes, statistics.cuts, statistics.rounds, statistics.size, statistics.seconds,
    ]  # fmt: skip
    assert plain["target_gap"] == 1e-4
    work = statistics.work
    parts = (work.spectral_seconds, work.polyhedral_seconds, work.separation_seconds, work.bound_seconds)
    assert min(parts) > 0
    assert sum(parts) < statistics.seconds
    assert (statistics.peak_memory is None) == (peak_memory() is None)

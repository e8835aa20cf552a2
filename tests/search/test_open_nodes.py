import math

from certimeans.search.node import NodeTask
from certimeans.search.open_nodes import OpenNodes


def test_the_least_bound_comes_first_and_the_older_of_two_equals() -> None:
    """Whatever the order in which they came."""
    nodes = OpenNodes()
    assert nodes.first is None
    assert math.isinf(nodes.lower_bound)
    for number, bound in [(3, 2.0), (2, 1.0), (1, 2.0), (4, 1.0)]:
        nodes.push(NodeTask(number, (), None, bound, math.inf, 0.0, seed=0, seconds=None))
    assert nodes.lower_bound == 1.0
    assert nodes.first is not None
    assert [nodes.pop().number for _ in range(len(nodes))] == [2, 4, 1, 3]
    assert len(nodes) == 0

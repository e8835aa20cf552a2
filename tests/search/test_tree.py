import numpy as np
import pytest

from certimeans.proof.steps import BranchStep, CovarianceStep, InfeasibleStep, MergeStep, Step
from certimeans.search.node import Decision, NodeOutcome, NodeStatus
from certimeans.search.statistics import NodeWork
from certimeans.search.tree import Tree, TreeNode, TreeStatus

BOUND = CovarianceStep()


def merge(*row: int) -> MergeStep:
    return MergeStep(np.array([row]))


def outcome(number: int, status: NodeStatus, bound: float, *steps: Step) -> NodeOutcome:
    return NodeOutcome(number, status, bound, 5, None, steps, (), None, 0, NodeWork(), 0.1)


def kinds(tree: Tree) -> list[list[str]]:
    return [[step.kind for step in entry] for entry in tree.proof()]


def branch(tree: Tree, number: int, i: int, j: int) -> None:
    """Give a node two children."""
    for together in (True, False):
        tree.add(number, Decision(i, j, together), tree.nodes[number].lower_bound)


def small_tree() -> Tree:
    """Build a root with two children, the second of which has two children of its own."""
    tree = Tree()
    tree.add(-1, None, 0.0)
    tree.settle(outcome(0, NodeStatus.BRANCHED, 1.0, merge(0, 1, 2), BOUND))
    branch(tree, 0, 3, 4)
    tree.settle(outcome(2, NodeStatus.BRANCHED, 2.0, BOUND))
    branch(tree, 2, 5, 6)
    return tree


def test_the_proof_has_an_entry_for_each_node_and_branches_come_last() -> None:
    """Entries are numbered like the nodes; open nodes have no branch."""
    tree = small_tree()
    assert kinds(tree) == [["merge", "covariance", "branch"], [], ["covariance", "branch"], [], []]
    assert tree.proof()[0][-1] == BranchStep(3, 4, together=1, apart=2)
    assert tree.proof()[2][-1] == BranchStep(5, 6, together=3, apart=4)


def test_bounds_are_kept_as_long_as_a_child_needs_them() -> None:
    """A node's bound step goes when both children have their own or are infeasible; the root's never does."""
    tree = small_tree()
    tree.settle(outcome(3, NodeStatus.PRUNED, 3.0, BOUND))
    assert kinds(tree)[2] == ["covariance", "branch"]
    tree.settle(outcome(4, NodeStatus.INFEASIBLE, np.inf, InfeasibleStep()))
    assert kinds(tree) == [["merge", "covariance", "branch"], [], ["branch"], ["covariance"], ["infeasible"]]
    tree.settle(outcome(1, NodeStatus.PRUNED, 3.0, BOUND))
    assert kinds(tree)[0] == ["merge", "covariance", "branch"]


def test_a_node_without_a_bound_of_its_own_is_proven_by_its_children() -> None:
    """The bound above it goes when these have theirs."""
    tree = small_tree()
    tree.settle(outcome(3, NodeStatus.BRANCHED, 2.0))
    branch(tree, 3, 7, 8)
    tree.settle(outcome(4, NodeStatus.PRUNED, 3.0, BOUND))
    for number in (5, 6):
        assert "covariance" in kinds(tree)[2]
        tree.settle(outcome(number, NodeStatus.PRUNED, 3.0, BOUND))
    assert kinds(tree)[2] == ["branch"]


def test_a_node_that_is_taken_up_again_keeps_its_inference() -> None:
    """Both evaluations' merges stay, each once; a bound stays until there is a better one."""
    tree = Tree()
    tree.add(-1, None, 0.0)
    tree.settle(outcome(0, NodeStatus.UNRESOLVED, 1.0, merge(0, 1, 2), BOUND))
    assert tree.nodes[0].status is TreeStatus.OPEN
    tree.settle(outcome(0, NodeStatus.UNRESOLVED, 1.0, merge(0, 1, 2), merge(3, 4, 5)))
    assert kinds(tree) == [["merge", "covariance", "merge"]]
    tree.settle(outcome(0, NodeStatus.PRUNED, 2.0, merge(6, 7, 8), CovarianceStep()))
    assert kinds(tree) == [["merge", "merge", "merge", "covariance"]]
    assert tree.steps[0][-1] is not BOUND


def test_the_argument_of_a_bound_is_all_inference_before_it() -> None:
    """That of the ancestors, and the node's own up to the bound."""
    tree = small_tree()
    tree.settle(outcome(4, NodeStatus.UNRESOLVED, 3.0, merge(1, 2, 3), BOUND))
    tree.add_steps(4, (merge(7, 8, 9),))
    assert [step.kind for step in tree.argument(4)] == ["merge", "merge", "covariance"]
    assert tree.argument(3) == ()
    assert tree.nearest_bounded(3) == 2
    assert tree.nearest_bounded(1) == 0


def test_a_root_with_a_decision_is_refused() -> None:
    """The whole search would be about the clusterings that keep it."""
    with pytest.raises(ValueError, match="root with a decision"):
        Tree.of([TreeNode(0, -1, Decision(0, 1, together=True), TreeStatus.OPEN, 0.0)])


@pytest.mark.parametrize(
    "children",
    [
        [Decision(0, 1, together=True)],
        [Decision(0, 1, together=True), Decision(0, 1, together=True)],
        [Decision(0, 1, together=True), Decision(0, 2, together=False)],
        [Decision(1, 1, together=True), Decision(1, 1, together=False)],
        [Decision(0, 1, together=True), Decision(0, 1, together=False), Decision(0, 1, together=False)],
    ],
)
def test_children_that_do_not_cover_their_parent_are_refused(children: list[Decision]) -> None:
    """One child, twice the same side, different pairs, a point with itself, three children."""
    nodes = [TreeNode(0, -1, None, TreeStatus.BRANCHED, 0.0)]
    nodes += [TreeNode(1 + n, 0, decision, TreeStatus.OPEN, 0.0) for n, decision in enumerate(children)]
    with pytest.raises(ValueError, match="do not cover it"):
        Tree.of(nodes)

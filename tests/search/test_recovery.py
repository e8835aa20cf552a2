from certimeans.search.recovery import Recovery


def test_a_node_lost_alone_three_times_is_given_up() -> None:
    """Twice it is queued again."""
    recovery = Recovery()
    assert [recovery.requeue_lost([7]) for _ in range(3)] == [([7], []), ([7], []), ([], [7])]


def test_nodes_lost_together_are_tried_one_at_a_time() -> None:
    """None of them is blamed; from then on they wait for others to end, and others for them."""
    recovery = Recovery()
    for _ in range(5):
        assert recovery.requeue_lost([1, 2]) == ([1, 2], [])
    assert not recovery.must_wait(1, [])
    assert recovery.must_wait(1, [9])
    assert recovery.must_wait(9, [1])
    assert not recovery.must_wait(8, [9])


def test_losses_that_were_not_the_nodes_fault_are_tolerated_longer() -> None:
    """But not for ever; and they make nobody a suspect."""
    recovery = Recovery()
    verdicts = [recovery.requeue_lost([1, 2], may_be_the_cause=False) for _ in range(40)]
    assert verdicts[20] == ([1, 2], [])
    assert verdicts[-1] == ([], [1, 2])
    assert not recovery.must_wait(1, [2])

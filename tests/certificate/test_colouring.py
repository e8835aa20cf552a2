import numpy as np
import pytest

from certimeans.certificate import colouring
from certimeans.certificate.colouring import is_colourable
from certimeans.errors import CertificateError
from tests.oracles.colouring import count_colourings


def graph(n: int, edges: list[tuple[int, int]]) -> dict[int, set[int]]:
    return {v: {b if a == v else a for a, b in edges if v in {a, b}} for v in range(n)}


def test_verdicts_agree_with_counting() -> None:
    """On 1,000 random graphs of up to ten vertices, with both answers among them."""
    random = np.random.default_rng(0)
    answers = []
    for _ in range(1000):
        n, k = int(random.integers(1, 11)), int(random.integers(1, 5))
        share = random.random()
        edges = [(a, b) for a in range(n) for b in range(a) if random.random() < share]
        answers.append(is_colourable(graph(n, edges), k))
        assert answers[-1] == (count_colourings(n, edges, k) > 0)
    assert 200 < sum(answers) < 800


def test_graphs_without_large_cliques_need_the_search() -> None:
    """Mycielski's graph of the pentagon (Grötzsch) has no triangle and needs four colours."""
    pentagon = [(i, (i + 1) % 5) for i in range(5)]
    edges = pentagon + [(5 + i, j) for a, b in pentagon for i, j in ((a, b), (b, a))] + [(5 + i, 10) for i in range(5)]
    assert not is_colourable(graph(11, edges), 3)
    assert is_colourable(graph(11, edges), 4)


def test_search_that_takes_too_long_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Giving up is an error, never a proof."""
    monkeypatch.setattr(colouring, "_MOST_WORK", 10)
    with pytest.raises(CertificateError, match="too long"):
        is_colourable(graph(8, [(a, b) for a in range(8) for b in range(a)]), 3)

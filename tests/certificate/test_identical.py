from pathlib import Path

import pytest

from certimeans.certificate.check import verify
from certimeans.errors import CertificateError
from tests.oracles.certificates import Draft, Task, add_relaxation, empty_certificate
from tests.oracles.instances import SmallInstance

# Three places: 0, 3, and a must-link between 7 and 9. With k = 3 each is a cluster, and only the last costs: 2.
SMALL = SmallInstance([[0.0], [0.0], [3.0], [3.0], [7.0], [9.0]], 3, [(4, 5)], [], None)
GROUPS = [0, 0, 1, 1, 2, 2]


def draft(small: SmallInstance = SMALL, *, with_step: bool = True, bound: float = 2.0 - 1e-9) -> Draft:
    """Unite identical points, then prove with multipliers 0 what the groups cost."""
    certificate = empty_certificate(Task(small), [0, 0, 1, 1, 2, 2])
    if with_step:
        certificate.add(0, "identical")
    add_relaxation(certificate, 0, GROUPS)
    certificate.content["lower_bound"] = bound
    return certificate


def test_identical_points_are_united(tmp_path: Path) -> None:
    """After the step they are one group, and the bound is the exact cost."""
    assert 2.0 - 1e-9 <= verify(draft().write(tmp_path)).lower_bound <= 2.0


def test_without_the_step_nothing_holds_them_together(tmp_path: Path) -> None:
    """A proof that unites them silently is rejected."""
    with pytest.raises(CertificateError, match="nothing holds together"):
        verify(draft(with_step=False).write(tmp_path))


@pytest.mark.parametrize("pair", [(0, 2), (0, 5), (1, 3)])
def test_points_with_a_cannot_link_are_not_united(pair: tuple[int, int], tmp_path: Path) -> None:
    """The links of one of two identical points may drive it elsewhere."""
    with pytest.raises(CertificateError, match="nothing holds together"):
        verify(draft(SMALL._replace(cannot_link=[pair])).write(tmp_path))


def test_points_with_a_must_link_are_not_united(tmp_path: Path) -> None:
    """Point 0 is held elsewhere; its twin stays where it is."""
    small = SMALL._replace(must_link=[(4, 5), (0, 2)])
    certificate = draft(small, bound=0.0)
    certificate.arrays["labels"][:] = [0, 1, 0, 0, 2, 2]
    with pytest.raises(CertificateError):
        verify(certificate.write(tmp_path))


def test_a_step_that_leaves_fewer_groups_than_clusters_is_refused(tmp_path: Path) -> None:
    """Four clusters need four groups: then two identical points have to part, and 'together' would prove too much."""
    certificate = empty_certificate(Task(SMALL._replace(k=4)), [0, 1, 2, 2, 3, 3])
    certificate.add(0, "identical")
    certificate.add(0, "covariance")
    with pytest.raises(CertificateError, match="fewer than k = 4 groups"):
        verify(certificate.write(tmp_path))


def test_points_that_differ_in_the_last_digit_are_not_united(tmp_path: Path) -> None:
    """Identical means equal in every bit of every coordinate."""
    moved = SMALL._replace(points=[[0.0], [5e-324], [3.0], [3.0], [7.0], [9.0]])
    with pytest.raises(CertificateError, match="nothing holds together"):
        verify(draft(moved).write(tmp_path))


def test_a_gram_matrix_has_no_identical_points(tmp_path: Path) -> None:
    """Without positive semidefiniteness equal rows say nothing."""
    gram = [[1.0] * 6 for _ in range(6)]
    certificate = empty_certificate(Task(SMALL, gram=gram), [0, 0, 1, 1, 2, 2])
    certificate.add(0, "identical")
    with pytest.raises(CertificateError, match="Gram matrix"):
        verify(certificate.write(tmp_path))


def test_after_a_decision_its_points_are_no_longer_free(tmp_path: Path) -> None:
    """An entry of a branch may unite, too, but not what the branch has put apart or together."""
    certificate = empty_certificate(Task(SMALL), [0, 0, 1, 1, 2, 2])
    certificate.content["proof"] = [[], [], []]
    certificate.add(0, "branch", pair=[0, 2], together=1, apart=2)
    certificate.add(2, "identical")
    add_relaxation(certificate, 2, GROUPS)
    with pytest.raises(CertificateError, match="nothing holds together"):
        verify(certificate.write(tmp_path))

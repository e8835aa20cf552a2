import copy
from pathlib import Path

import pytest

from certimeans.certificate.check import verify
from certimeans.errors import CertificateError, InputError
from tests.oracles.certificates import Draft, Task, optimality_certificate
from tests.oracles.instances import SmallInstance
from tests.oracles.tampering import FILE_TAMPERINGS, NEED_DATA, TAMPERINGS, NotApplicableError

# Seven points, three clusters; the proof has inference steps, infeasible entries and relaxations with cuts.
SMALL = SmallInstance(
    points=[[0.0, 0.0], [0.5, 0.25], [4.0, 4.0], [4.5, 3.75], [9.0, 0.0], [8.5, 0.5], [4.0, 1.0]],
    k=3,
    must_link=[(0, 1)],
    cannot_link=[(0, 2), (2, 4), (0, 4), (4, 6)],
    weights=None,
)
GRAM = [[0.1 * (i * j) + 1.0 / (1 + abs(i - j)) for j in range(7)] for i in range(7)]
GENUINE = {
    "points": optimality_certificate(Task(SMALL)),
    "standardized": optimality_certificate(Task(SMALL, standardize=True)),
    "gram": optimality_certificate(Task(SMALL, gram=GRAM)),
}
# The cuts of these certificates are tight in any unit; test_end_to_end.py tries this one on the solver's.
NEEDS_REAL_CUTS = {"larger_weight_unit"}


def forged(genuine: Draft) -> Draft:
    return Draft(copy.deepcopy(genuine.content), {name: array.copy() for name, array in genuine.arrays.items()})


@pytest.mark.parametrize("kind", GENUINE)
def test_the_genuine_certificate_is_verified_and_has_everything(kind: str, tmp_path: Path) -> None:
    """What is falsified below is right, and has all that can be falsified."""
    verification = verify(forged(GENUINE[kind]).write(tmp_path))
    assert verification.n_leaves > verification.n_infeasible > 0
    assert verification.gap < 1e-11
    kinds = {step["kind"] for entry in GENUINE[kind].content["proof"] for step in entry}
    assert kinds == {"merge", "covariance", "relaxation", "infeasible", "branch"}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_rejected(name: str, tmp_path: Path) -> None:
    """Each falsification fails, without the original data unless only they can tell."""
    applied = 0
    for genuine in GENUINE.values():
        draft = forged(genuine)
        if name in NEED_DATA and draft.content["geometry"] == "gram":
            continue
        try:
            TAMPERINGS[name](draft.content, draft.arrays)
        except NotApplicableError:
            continue
        applied += 1
        with pytest.raises((CertificateError, InputError)):
            verify(draft.write(tmp_path), instance=SMALL.build() if name in NEED_DATA else None)
    assert applied or name in NEEDS_REAL_CUTS


@pytest.mark.parametrize("name", FILE_TAMPERINGS)
def test_damaged_files_are_refused(name: str, tmp_path: Path) -> None:
    """Damaged files end in a message, not in a crash or a wait."""
    folder = forged(GENUINE["points"]).write(tmp_path)
    FILE_TAMPERINGS[name](folder)
    with pytest.raises((CertificateError, InputError)):
        verify(folder)

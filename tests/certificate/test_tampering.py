import copy
from pathlib import Path

import pytest

from certimeans.certificate.check import verify_directory
from certimeans.errors import CertificateError, InputError
from tests.oracles.certificates import Draft, optimality_certificate
from tests.oracles.instances import SmallInstance
from tests.oracles.tampering import FILE_TAMPERINGS, NEED_DATA, TAMPERINGS

# Seven points, three clusters; the tree has inference steps, infeasible leaves and proofs with cuts.
SMALL = SmallInstance(
    points=[[0.0, 0.0], [0.5, 0.25], [4.0, 4.0], [4.5, 3.75], [9.0, 0.0], [8.5, 0.5], [4.0, 1.0]],
    k=3,
    must_link=[(0, 1)],
    cannot_link=[(0, 2), (2, 4), (0, 4), (4, 6)],
    weights=None,
)
GENUINE = optimality_certificate(SMALL)


def forged() -> Draft:
    return Draft(copy.deepcopy(GENUINE.content), {name: array.copy() for name, array in GENUINE.arrays.items()})


def test_the_genuine_certificate_is_verified_and_has_everything(tmp_path: Path) -> None:
    """What is falsified below is right, and has all that can be falsified."""
    verification = verify_directory(forged().write(tmp_path), SMALL.build())
    assert verification.n_leaves > verification.n_infeasible > 0
    assert any(name.endswith("_merges") for name in GENUINE.arrays)


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_rejected(name: str, tmp_path: Path) -> None:
    """Each falsification fails, without the original data unless only they can tell."""
    draft = forged()
    TAMPERINGS[name](draft.content, draft.arrays)
    with pytest.raises((CertificateError, InputError)):
        verify_directory(draft.write(tmp_path), SMALL.build() if name in NEED_DATA else None)


@pytest.mark.parametrize("name", FILE_TAMPERINGS)
def test_damaged_files_are_refused(name: str, tmp_path: Path) -> None:
    """Damaged files end in a message, not in a crash."""
    folder = forged().write(tmp_path)
    FILE_TAMPERINGS[name](folder)
    with pytest.raises((CertificateError, InputError)):
        verify_directory(folder)

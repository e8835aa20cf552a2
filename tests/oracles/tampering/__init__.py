"""Ways to falsify a certificate. A checker has to reject each of them.

Every entry of ``TAMPERINGS`` takes the JSON object and the arrays of a certificate that proves something about a
clustering, and changes them in place; it raises ``NotApplicableError`` if this certificate has nothing to falsify in
that way. Those in ``NEED_DATA`` make a consistent certificate of another problem: only a comparison with the original
data finds them. ``FILE_TAMPERINGS`` damage the files themselves.
"""

from tests.oracles.tampering import claims, files, multipliers, proof
from tests.oracles.tampering.common import FILE_TAMPERINGS, NEED_DATA, TAMPERINGS, NotApplicableError

__all__ = [
    "FILE_TAMPERINGS",
    "NEED_DATA",
    "TAMPERINGS",
    "NotApplicableError",
    "claims",
    "files",
    "multipliers",
    "proof",
]

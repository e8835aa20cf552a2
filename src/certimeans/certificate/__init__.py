"""Proof: what a certificate holds, how it is written, and an independent checker of it (``check.py``)."""

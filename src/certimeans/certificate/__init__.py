"""Proofs that anyone can re-check: what is stored, and an independent checker."""

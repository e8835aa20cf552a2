"""Slow, obvious programs that say what the right answer is."""

"""Benchmarks that need no data files."""

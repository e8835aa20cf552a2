"""Benchmarks on the paper's instances: instances in, tables out."""

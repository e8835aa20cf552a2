"""Measurements; run as modules, e.g. ``python -m benchmarks.micro.planted``."""

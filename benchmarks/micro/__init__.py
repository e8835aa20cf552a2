"""Measurements of single stages."""

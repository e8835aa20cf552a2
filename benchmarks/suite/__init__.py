"""Measurements over folders of instances."""

"""Run a suite of instances, and make tables and plots of the results: what ``certimeans bench`` does.

``suite`` and ``generated`` find the instances, ``runner`` solves them and keeps ``rows``, ``tables``, ``summary`` and
``plots`` are for readers.
"""

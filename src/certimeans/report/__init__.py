"""For readers: progress, tables, plots."""

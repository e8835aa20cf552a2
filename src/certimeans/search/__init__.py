"""Branch and cut: from bounds and heuristics to proven optimal clusterings."""

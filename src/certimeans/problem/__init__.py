"""What is asked: points, constraints, clusterings, and the files they live in."""

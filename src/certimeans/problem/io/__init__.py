"""Files in and out: points, constraints, labels."""

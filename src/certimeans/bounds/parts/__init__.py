"""Bounds for any number of points: split them into parts that look alike, bound each part, add up."""

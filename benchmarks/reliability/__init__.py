"""Long versions of the reliability tests, with recorded counts."""

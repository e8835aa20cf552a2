"""Points that lie in regions far from each other: each region is a problem of its own, at its own scale."""

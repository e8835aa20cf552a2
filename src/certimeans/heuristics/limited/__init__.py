"""Upper bounds where the sizes of clusters are limited: starts, moves and swaps that keep the limits."""

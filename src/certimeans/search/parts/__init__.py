"""Running the bounds of parts: where they are computed, what is kept of them, and which parts come next."""

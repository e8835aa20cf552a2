"""Lower bounds: what proves that no clustering costs less."""

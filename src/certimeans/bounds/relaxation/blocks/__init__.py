"""The relaxation for prescribed unequal sizes: one matrix for each different size."""

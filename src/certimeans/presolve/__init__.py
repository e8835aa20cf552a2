"""A smaller, equivalent problem: what the constraints imply, and why they contradict each other."""

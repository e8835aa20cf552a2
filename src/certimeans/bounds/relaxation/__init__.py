"""Lower bounds: a semidefinite relaxation with cutting planes, and a bound that is valid whatever the iterates are."""

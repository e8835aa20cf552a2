"""Why a bound is true: proof steps as plain data, stored and loaded in one place."""

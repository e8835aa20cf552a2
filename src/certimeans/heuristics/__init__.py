"""Upper bounds: good clusterings, found fast, that keep every constraint."""

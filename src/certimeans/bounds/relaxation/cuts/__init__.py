"""Valid inequalities for the relaxation: what they are, how violated ones are found, how they are kept."""

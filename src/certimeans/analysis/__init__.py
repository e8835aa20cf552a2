"""From an answer to a decision: what clusters are like, what constraints cost, what to ask next, which k."""

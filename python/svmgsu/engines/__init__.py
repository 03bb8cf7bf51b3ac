"""Who sums over the examples: the objective in memory."""

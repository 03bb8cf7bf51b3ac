"""Who sums over the examples: the objective in memory, and training sets that lie in files."""

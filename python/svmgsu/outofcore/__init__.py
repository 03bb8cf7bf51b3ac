"""Data that do not fit into memory: sources read piece by piece, and the cache."""

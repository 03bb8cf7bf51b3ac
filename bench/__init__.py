"""Measurements. `python -m bench` is of speed; others are programs too: `python -m bench.solvers --help`."""

"""Measurements. Each module is a program: `python -m bench.solvers --help`."""

"""Evidence: the library beside what one would do without it, on real data, by a protocol written first.

`python -m bench.evidence` makes the records and the tables; PROTOCOL.md says what is compared and how.
"""

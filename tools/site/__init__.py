"""The site: `python -m tools.site OUTPUT` assembles its sources, builds them, and checks the result."""

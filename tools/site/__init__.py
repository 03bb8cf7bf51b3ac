"""The site: `python -m tools.site OUTPUT` assembles its sources, builds them, checks what came out."""

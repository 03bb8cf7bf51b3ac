"""Non-linear estimators: objects, their population, a map, and a certified linear stage."""

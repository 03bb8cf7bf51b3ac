"""From examples and targets to a model: problems, training, held-out probabilities."""

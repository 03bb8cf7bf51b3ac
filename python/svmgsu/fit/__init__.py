"""From samples and targets to a model: problems, training, held-out probabilities."""

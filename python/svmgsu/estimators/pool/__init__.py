"""`GSUClassifier` and `GSURegressor`: a pool of small models on exact expected features."""

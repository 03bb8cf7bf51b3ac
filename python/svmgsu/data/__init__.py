"""Uncertain samples: `Gaussians`, the kinds of covariance, data frames, error bars, concatenation."""

"""Uncertain examples: `Gaussians`, the kinds of covariance, frames, error bars, concatenation."""

"""Maps of Gaussians: what becomes of a mean and a covariance."""

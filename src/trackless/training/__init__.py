"""Training networks with JAX: on moments, or on snapshots. Imported only by the neural estimator."""

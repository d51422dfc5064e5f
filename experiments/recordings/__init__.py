"""Results of simulations, in memory or read back from a directory."""

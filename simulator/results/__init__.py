"""Results of a simulation: records, metrics and tables."""

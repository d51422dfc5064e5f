"""Pictures of comparisons and experiments."""

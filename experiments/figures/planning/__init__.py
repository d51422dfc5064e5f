"""Pictures of plans, distributions and waits."""

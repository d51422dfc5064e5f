"""The job table: an explicit workload in which every random choice is already made."""

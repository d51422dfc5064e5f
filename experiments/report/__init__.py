"""The report of a reproduction: one HTML file that needs nothing else."""

"""Making Speculative Scheduling Robust to Incomplete Data."""

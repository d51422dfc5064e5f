"""Explanation of the waits and runs of a job, from recorded facts alone."""

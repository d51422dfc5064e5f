"""Starts of jobs alone, from one state and many runtimes, far faster than a full simulation."""

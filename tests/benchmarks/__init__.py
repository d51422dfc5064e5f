"""Benchmarks: scripts that print figures and ratios; they assert nothing."""

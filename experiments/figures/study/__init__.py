"""Figures of comparisons and experiments."""

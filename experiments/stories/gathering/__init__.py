"""Gather the facts of a job from what was read."""

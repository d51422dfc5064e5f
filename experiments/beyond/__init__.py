"""Experiments that no paper has: questions that the simulator can answer because it has all kinds of jobs at once."""

"""Experiments of the paper "Making Speculative Scheduling Robust to Incomplete Data"."""

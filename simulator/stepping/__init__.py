"""Simulations that stop at each decision and let their caller make it."""

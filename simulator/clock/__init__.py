"""Simulated time: SimPy events, their order within an instant, and one scheduling pass per instant."""

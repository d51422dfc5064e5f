"""Oracles: second, independent implementations of the model, which the tests hold the simulator against."""

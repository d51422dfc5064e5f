"""When: SimPy events, the order within an instant, and one scheduling pass for each instant."""

"""Stepping: simulations that stop at each decision of their driver."""

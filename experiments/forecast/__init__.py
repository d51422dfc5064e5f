"""Forecasts of job starts: many simulations from the present state, with runtimes drawn from past runs."""

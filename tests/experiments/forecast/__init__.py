"""Forecasts of starts."""

"""Tests of experiments.sweeps."""

"""Tests of holdfast.experiments.sweeps."""

"""Tests of holdfast.experiments.traces."""

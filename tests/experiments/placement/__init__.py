"""Tests of holdfast.experiments.placement."""

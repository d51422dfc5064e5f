"""Tests of holdfast.experiments.figures."""

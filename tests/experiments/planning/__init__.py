"""Tests of holdfast.experiments.planning."""

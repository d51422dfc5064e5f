"""Tests of holdfast.experiments.recordings."""

"""Tests of holdfast.experiments.beyond."""

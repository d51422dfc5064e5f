"""Tests of holdfast.experiments.output."""

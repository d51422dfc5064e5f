"""Tests of holdfast.experiments.papers."""

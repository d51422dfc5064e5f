"""Tests of holdfast.experiments.study."""

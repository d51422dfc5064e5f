"""Tests of holdfast.experiments.stories."""

"""Tests of holdfast.experiments.whatif."""

"""Tests of experiments.whatif."""

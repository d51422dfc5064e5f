"""Tests of experiments.placement."""

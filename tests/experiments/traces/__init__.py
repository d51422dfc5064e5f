"""Tests of experiments.traces."""

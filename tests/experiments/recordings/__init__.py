"""Tests of experiments.recordings."""

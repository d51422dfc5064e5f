"""Tests of experiments.planning."""

"""Tests of experiments.output."""

"""Tests of experiments.papers."""

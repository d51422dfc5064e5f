"""Tests of experiments.study."""

"""Tests of experiments.stories."""

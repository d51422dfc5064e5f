"""Tests of experiments.timelines."""

"""Tests of holdfast.experiments.timelines."""

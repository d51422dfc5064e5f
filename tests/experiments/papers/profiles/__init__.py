"""Tests of holdfast.experiments.papers.profiles."""

"""Tests of holdfast.experiments.papers.checkpoint."""

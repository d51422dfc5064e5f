"""Tests of holdfast.experiments.papers.hybrid."""

"""Tests of holdfast.experiments.papers.incomplete."""

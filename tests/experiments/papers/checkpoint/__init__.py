"""Tests of experiments.papers.checkpoint."""

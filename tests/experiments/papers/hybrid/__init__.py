"""Tests of experiments.papers.hybrid."""

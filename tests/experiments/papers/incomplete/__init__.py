"""Tests of experiments.papers.incomplete."""

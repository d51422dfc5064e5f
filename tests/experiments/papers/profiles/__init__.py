"""Tests of experiments.papers.profiles."""

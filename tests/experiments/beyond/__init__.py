"""Tests of experiments.beyond."""

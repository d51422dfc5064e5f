"""Tests of experiments.exports."""

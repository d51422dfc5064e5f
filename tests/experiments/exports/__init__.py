"""Tests of holdfast.experiments.exports."""

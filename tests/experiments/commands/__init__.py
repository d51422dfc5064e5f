"""Tests of holdfast.experiments.commands."""

"""Tests of experiments.commands."""

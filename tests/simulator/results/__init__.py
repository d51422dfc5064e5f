"""Tests of simulator.results."""

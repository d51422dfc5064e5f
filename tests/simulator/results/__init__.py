"""Tests of holdfast.simulator.results."""

"""Tests of holdfast.simulator.conformance."""

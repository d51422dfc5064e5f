"""Tests of simulator.conformance."""

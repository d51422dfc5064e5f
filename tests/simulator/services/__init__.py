"""Tests of holdfast.simulator.services."""

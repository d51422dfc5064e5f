"""Tests of holdfast.simulator.clock."""

"""Tests of holdfast.simulator.machine."""

"""Tests of simulator.clock."""

"""Tests of simulator.machine."""

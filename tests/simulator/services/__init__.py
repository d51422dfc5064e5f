"""Tests of simulator.services."""

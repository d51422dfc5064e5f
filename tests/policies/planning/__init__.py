"""Tests of holdfast.policies.planning."""

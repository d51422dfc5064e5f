"""Tests of policies.planning."""

"""Tests of holdfast.workloads.distributions."""

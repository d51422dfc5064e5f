"""Tests of holdfast.workloads.outages."""

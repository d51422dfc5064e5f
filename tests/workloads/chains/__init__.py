"""Tests of holdfast.workloads.chains."""

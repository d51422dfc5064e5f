"""Tests of holdfast.workloads.table."""

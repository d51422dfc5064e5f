"""Tests of holdfast.workloads.logs."""

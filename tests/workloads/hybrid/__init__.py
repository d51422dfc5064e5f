"""Tests of holdfast.workloads.hybrid."""

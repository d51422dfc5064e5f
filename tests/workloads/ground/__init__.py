"""Tests of holdfast.workloads.ground."""

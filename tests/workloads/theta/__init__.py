"""Tests of holdfast.workloads.theta."""

"""Tests of workloads.table."""

"""Tests of workloads.laws."""

"""Tests of workloads.logs."""

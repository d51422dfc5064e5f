"""Tests of workloads.outages."""

"""Tests of workloads.chains."""

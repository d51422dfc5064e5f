"""Tests of workloads.distributions."""

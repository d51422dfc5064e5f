"""Tests of workloads.hybrid."""

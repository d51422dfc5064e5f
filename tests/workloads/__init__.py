"""Tests of workloads."""

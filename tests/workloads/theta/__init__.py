"""Tests of workloads.theta."""

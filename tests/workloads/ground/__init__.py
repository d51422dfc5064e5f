"""Tests of workloads.ground."""

"""Tests of workloads.fits."""

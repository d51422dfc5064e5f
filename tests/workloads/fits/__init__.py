"""Tests of holdfast.workloads.fits."""

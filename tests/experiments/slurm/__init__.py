"""Tests of holdfast.experiments.slurm."""

"""Tests of experiments.slurm."""

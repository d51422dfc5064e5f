"""Tests of holdfast.experiments.gantt."""

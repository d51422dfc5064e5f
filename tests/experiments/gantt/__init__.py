"""Tests of experiments.gantt."""

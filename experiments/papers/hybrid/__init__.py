"""Hybrid Workload Scheduling on HPC Systems."""

"""Experiments of the paper "Hybrid Workload Scheduling on HPC Systems"."""

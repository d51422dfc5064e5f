"""Hybrid workloads: a trace with job types, overheads and advance notices."""

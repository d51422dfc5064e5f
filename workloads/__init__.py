"""Workloads: logs, generated years, job tables, runtime distributions, outages and machine descriptions."""

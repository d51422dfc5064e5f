"""Experiments of the paper "Profiles of upcoming HPC Applications and their Impact on Reservation Strategies"."""

"""Slurm: plans and mechanisms carried out on it, a whole one on this machine, and what it did beside the rules of the
simulator.
"""

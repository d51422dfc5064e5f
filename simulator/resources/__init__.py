"""Rigid jobs on a machine of several kinds of nodes: partitions, shared nodes, GPUs, memory, features and limits."""

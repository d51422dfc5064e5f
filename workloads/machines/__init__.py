"""Machines with several kinds of nodes, partitions and limits: description, sources, and the requests of jobs."""

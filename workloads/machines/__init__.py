"""Machines of several kinds of nodes with partitions and limits: description, sources, and what jobs ask of them."""

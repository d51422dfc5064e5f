"""Loops over whole numbers that plan and replay: plain sources, which run as machine code or interpreted.

A loop takes numbers and one-dimensional arrays of 64-bit integers, changes the arrays in place, asks none for its
length and allocates nothing, so that its object code needs no library (:mod:`workloads.ground.object_code`). Authors of
plug-ins need none of them.
"""

"""Planning and replay loops over integers, which run either as machine code or as plain Python.

A loop takes numbers and one-dimensional arrays of 64-bit integers and changes the arrays in place. It does not use the
length of an array and allocates no memory, so that its object code needs no library
(:mod:`workloads.ground.object_code`). Authors of plug-ins do not need these modules.
"""

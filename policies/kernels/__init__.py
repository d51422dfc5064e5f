"""Planning and replay loops over integers, which run either as machine code or as plain Python.

A loop takes named tuples of numbers and one-dimensional arrays, and changes the arrays in place. It does not use the
length of an array and allocates no memory, so that its object code needs no library
(:mod:`holdfast.workloads.ground.object_code`). Authors of plug-ins do not need these modules.
"""

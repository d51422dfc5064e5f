"""A random search over all options of a simulation together, with a checker that reads the results alone.

``python -m tests.search --count 100000 --seed 0`` simulates so many small cases, and prints each one in which a law is
broken, made as small as it gets.
"""

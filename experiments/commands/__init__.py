"""The command line, a module for each command.

No other folder uses it.
"""

"""Queue orders: functions and dataclasses from a waiting job to a key, the smallest of which goes first.

They know what a scheduler may know: sizes, walltimes and submits, never runtimes. :mod:`policies.order` registers them.
"""

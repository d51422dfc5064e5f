"""Built-in queue orders: functions and dataclasses that map a waiting job to a key; the smallest key is first.

They use what a scheduler may know: sizes, walltimes and submit times, never runtimes. :mod:`holdfast.policies.order`
registers them.
"""

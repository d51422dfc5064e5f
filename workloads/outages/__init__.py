"""What is to happen to the machine: maintenance, advance reservations and failures.

Other folders use ``failures``, ``file`` and ``outage``.
"""

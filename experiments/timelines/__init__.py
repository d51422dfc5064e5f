"""What happened when: how each job, the queue and the machine spent their time.

Other folders use ``calls``, ``courses``, ``phases``, ``runs``, ``steps`` and ``waiting``.
"""

"""What happened when: how each job, the queue and the machine spent their time.

Other folders use ``calls``, ``contrasts``, ``distributions``, ``machinetable``, ``phases``, ``steps`` and ``waiting``.
"""

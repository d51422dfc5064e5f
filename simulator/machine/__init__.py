"""What changes: nodes, runs, the queue, and every transition between them.

Other folders use ``cluster``, ``decisions``, ``eventlog``, ``fairshare``, ``holders``, ``jobstate``, ``kinds``,
``priorstate``, ``run``, ``stochastic``, ``streamedjob``, ``system``, ``truth`` and ``usage``.
"""

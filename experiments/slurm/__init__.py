"""Slurm: plans and mechanisms carried out on it, a whole one on this machine, and what it did beside the rules of the
simulator.

Other folders use ``accounting``, ``agreement``, ``batchrun``, ``client``, ``concurrence``, ``lab``, ``links``,
``replaying``, ``replays``, ``sequences``, ``serving``, ``siteoptions``, ``steering``, ``submits``, ``whereabouts``
and ``workplace``.
"""

"""Slurm: plans carried out on it, a whole one on this machine, and what it did beside the rules of the simulator.

Other folders use ``accounting``, ``agreement``, ``client``, ``lab``, ``links``, ``replaying``, ``replays``,
``sequences``, ``siteoptions``, ``submits``, ``whereabouts`` and ``workplace``.
"""

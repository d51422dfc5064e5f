"""Slurm: plans carried out on it, and what it did beside the rules of the simulator.

Other folders use ``accounting``, ``agreement``, ``client``, ``links``, ``replays``, ``sequences``, ``whereabouts`` and
``workplace``.
"""

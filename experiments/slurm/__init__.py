"""Plans on Slurm: the scripts of a reservation sequence, their submission, and how far they have come.

Other folders use ``accounting``, ``client``, ``links``, ``sequences``, ``whereabouts`` and ``workplace``.
"""

"""Why it happened: the story of a job, told from recorded facts alone.

Other folders use ``story`` and ``worst``.
"""

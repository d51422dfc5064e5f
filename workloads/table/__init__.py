"""The job table, in which every random choice is already made.

Other folders use ``job``, ``joblife``, ``jobtable``, ``profile`` and ``validation``.
"""

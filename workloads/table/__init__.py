"""The job table, in which every random choice is already made.

Other folders use ``frames``, ``job``, ``joblife``, ``jobs``, ``jobtable``, ``parquet``, ``profile``,
``rigidcolumns`` and ``validation``.
"""

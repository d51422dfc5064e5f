"""What is known of one simulation, in memory or read back from a directory.

Other folders use ``archive``, ``gains``, ``replay``, ``runfile``, ``summaries``, ``variants``,
``weeks`` and ``windows``.
"""

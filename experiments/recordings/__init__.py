"""What is known of one simulation, in memory or read back from a directory.

Other folders use ``archive``, ``gains``, ``longjobs``, ``longruns``, ``replay``, ``runfile``, ``summaries``,
``variants``, ``weeks`` and ``windows``.
"""

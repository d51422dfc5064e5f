"""What came out: records, metrics and tables.

Other folders use ``catalogue``, ``integrals``, ``loggedruns``, ``longrecords``, ``metrics``, ``ranked``, ``recording``,
``records``, ``reservations``, ``result`` and ``schema``.
"""

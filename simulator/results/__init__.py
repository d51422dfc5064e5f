"""What came out: records, metrics and tables.

Other folders use ``integrals``, ``metrics``, ``recording``, ``records``, ``reservations``,
``result`` and ``schema``.
"""

"""What came out: records, metrics and tables.

Other folders use ``integrals``, ``metrics``, ``records``, ``reservations`` and ``result``.
"""

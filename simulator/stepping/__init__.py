"""Stepping: simulations that stop at each decision of their driver.

Other folders use ``arrivals``, ``base``, ``jobs`` and ``offers``.
"""

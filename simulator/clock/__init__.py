"""When: SimPy processes, the order within an instant, and one scheduling pass for each instant.

Other folders use ``engine``, ``setup`` and ``trial``.
"""

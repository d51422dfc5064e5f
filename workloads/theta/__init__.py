"""A generator of years like Theta's.

Other folders use ``generator``, ``presets`` and ``year``.
"""

"""Which nodes each run had: node numbers, derived from the event log by first fit.

Other folders use ``ranges``, ``rectangles`` and ``spans``.
"""

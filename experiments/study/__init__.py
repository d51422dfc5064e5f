"""The frame of every experiment: measure, judge, draw, report.

Other folders use ``comparison``, ``evidence``, ``experiment``, ``grid``, ``hypotheses``, ``levels``, ``measured``,
``metrics``, ``parameters``, ``redraw``, ``report.document``, ``reproduction``, ``rules``, ``times`` and ``verdicts``.
"""

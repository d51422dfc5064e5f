"""The frame of every experiment: measure, judge, draw, report.

Other folders use ``artefact``, ``comparison``, ``evidence``, ``experiment``, ``hypotheses``, ``integrity``, ``levels``,
``measured``, ``metrics``, ``parameters``, ``redraw``, ``report.content``, ``reproduction``, ``rules``, ``simulated``,
``stored``, ``times`` and ``verdicts``.
"""

"""Figures: functions from results and traces to a :class:`matplotlib.figure.Figure`; only ``style.save`` writes files.

Matplotlib is imported by the functions that draw, so that a command that draws nothing does not wait for it. Figures
are made without pyplot, which keeps global state: they need no display and may be drawn in several threads.
"""

"""The frame of every experiment: measure, judge, draw, report."""

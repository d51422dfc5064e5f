"""Figures of plans, runtime distributions and queue waits."""

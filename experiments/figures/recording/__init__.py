"""Figures of one recording."""

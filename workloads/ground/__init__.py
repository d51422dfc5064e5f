"""Foundations that all packages use: errors, units, columns, random streams, files and registries."""

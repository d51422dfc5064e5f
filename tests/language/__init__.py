"""Checks of the language of the sources, which ``make lint`` runs."""

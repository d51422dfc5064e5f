"""Reservation planning: from a runtime distribution and the costs of the platform to a sequence of reservations."""

"""Outages of the machine: maintenance, advance reservations and failures."""

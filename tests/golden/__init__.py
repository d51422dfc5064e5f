"""Outputs that were read by a person and change only on purpose."""

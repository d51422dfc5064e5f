"""Reservation and Checkpointing Strategies for Stochastic Jobs."""

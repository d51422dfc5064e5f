"""Experiments of the paper "Reservation and Checkpointing Strategies for Stochastic Jobs"."""

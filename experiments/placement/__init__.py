"""Node numbers of every run, derived from the event log by best fit."""

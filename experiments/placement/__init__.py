"""Which nodes each run had: node numbers, derived from the event log by best fit."""

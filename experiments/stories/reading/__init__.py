"""Read an event log once, and look things up in it."""

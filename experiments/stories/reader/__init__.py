"""The reader: an event log in, the facts of a job out."""

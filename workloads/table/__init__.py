"""The job table, in which every random choice is already made."""

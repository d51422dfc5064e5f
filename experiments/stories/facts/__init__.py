"""The facts of a story, as values."""

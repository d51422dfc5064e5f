"""Pictures of one recording."""

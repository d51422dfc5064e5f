"""Options that several commands share, and functions that interpret them."""

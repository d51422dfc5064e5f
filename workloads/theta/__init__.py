"""A generator of years like Theta's."""

"""A generator of synthetic years of the machine Theta."""

"""What is to happen to the machine: maintenance, advance reservations and failures."""

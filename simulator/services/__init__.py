"""What follows from notices, arrivals, outages, failures and cancellations."""

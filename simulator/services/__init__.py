"""Services that handle notices, arrivals, outages, failures and cancellations."""

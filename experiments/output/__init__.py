"""Writing of results: under a lock, completely or not at all, and sealed by digests."""

"""How a result is written: under a lock, complete or not at all, and sealed by digests."""

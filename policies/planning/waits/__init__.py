"""What the queue charges for a request: waits, fitted from pairs, as prices of a reservation."""

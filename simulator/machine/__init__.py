"""What changes: nodes, runs, the queue, and every transition between them."""

"""State of the machine: nodes, runs and the queue, and every transition between them."""

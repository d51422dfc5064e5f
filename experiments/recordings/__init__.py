"""What is known of one simulation, in memory or read back from a directory."""

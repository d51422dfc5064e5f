"""What a trace is: its description, and the generator held against the published baseline."""

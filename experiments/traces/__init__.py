"""Description of traces, and validation of the generator against the published baseline."""

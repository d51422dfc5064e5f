"""Facts of a job, as values: the reader makes them, the writer puts them into sentences."""

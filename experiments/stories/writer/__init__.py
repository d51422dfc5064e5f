"""The writer: facts of a job in, sentences out."""

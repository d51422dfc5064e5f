"""Why it happened: the story of a job, from recorded facts alone."""

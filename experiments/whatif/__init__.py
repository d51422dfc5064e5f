"""What a change of the machine or of its rules would do to the jobs of a log: alternatives beside today's rule."""

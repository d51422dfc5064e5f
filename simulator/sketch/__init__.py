"""Fast computation of start times alone, for one state and many sampled runtimes."""

"""A preset of readings against the independent reading of the hybrid model, job for job."""

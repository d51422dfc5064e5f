"""Models of queue waits, fitted to pairs of walltime and wait, which serve as prices of a reservation."""

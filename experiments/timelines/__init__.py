"""Time series of a simulation: how each job, the queue and the machine spent their time."""

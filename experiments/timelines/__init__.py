"""What happened when: how each job, the queue and the machine spent their time."""

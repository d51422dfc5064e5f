"""Resource requests of the jobs of a log: cores, memory, GPUs, features, partition, QOS and account."""

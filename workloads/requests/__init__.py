"""What the jobs of a log ask of a machine: cores, memory, GPUs, features, partition, QOS and account."""

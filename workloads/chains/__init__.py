"""Task chains: applications that run a sequence of tasks, each with its own duration distribution and memory.

Source: Gainaru, Goglin, Honore, Pallez, "Profiles of upcoming HPC Applications and their Impact on Reservation
Strategies", Inria RR-9359 [P], sections 2.3, 3 and 4. Times are in seconds, memory in GB (10^9 bytes).
"""

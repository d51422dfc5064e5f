"""Plans and mechanisms executed on Slurm, a complete Slurm on this machine, and comparison with the simulator."""

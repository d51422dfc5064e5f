"""Subcommands of ``holdfast slurm``."""

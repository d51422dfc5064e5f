"""The words of ``holdfast slurm``."""

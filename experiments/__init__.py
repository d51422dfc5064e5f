"""What is asked: commands, figures, tables and the experiments of the papers. It alone knows all others."""

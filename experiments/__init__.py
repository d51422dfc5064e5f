"""What is asked: commands, figures, tables and the experiments of the papers. The only package that knows all others."""

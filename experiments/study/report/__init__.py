"""The HTML report on the experiments in a directory, and the experiment pages of the documentation."""

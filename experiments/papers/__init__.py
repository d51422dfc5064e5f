"""The experiments of the four papers: each module offers some as ``EXPERIMENTS``, and is found by being here."""

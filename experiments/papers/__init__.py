"""Reproductions of the tables and figures of four papers, one folder per paper."""

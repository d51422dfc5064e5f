"""The tables and figures of the four papers, a folder for each paper."""

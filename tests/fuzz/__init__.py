"""A mutation fuzzer of the command line; ``python -m tests.fuzz --help``."""

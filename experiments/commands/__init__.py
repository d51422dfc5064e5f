"""The commands of the command line: one module each, with ``add_arguments(parser)`` and ``main(arguments)``."""

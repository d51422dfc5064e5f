"""``holdfast slurm options``: a site's configuration as options of a simulation."""

from __future__ import annotations

import argparse

from experiments.commands.asking.arguments import check_outputs

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "configuration",
        metavar="SLURM.CONF",
        nargs="+",
        help="slurm.conf, or what 'scontrol show config', 'scontrol show node' and 'scontrol show partition' print",
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="write them as JSON; '-' is standard output, and then nothing else is printed (default: not written)",
    )


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.planning.document import write_json
    from experiments.slurm.siteoptions import site_options

    check_outputs(arguments.json, None)
    found = site_options(*arguments.configuration)
    if arguments.json:
        told = {"options": found.options, "left_out": dict(found.left_out), "unknown": found.unknown}
        write_json(arguments.json, told)
    if arguments.json != "-":
        print(found.text())

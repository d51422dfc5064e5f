"""``holdfast policies``: which plug-ins there are, and whether one keeps the contract."""

from __future__ import annotations

import argparse

from experiments.commands.asking.arguments import whole

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    kinds = "order, backfilling, notice, arrival, tenants, expansion, strategy, reader or export"
    parser.add_argument("--kind", metavar="NAME", help=f"kind of plug-in: {kinds} (default: all)")
    check = parser.add_argument_group("checking a plug-in")
    check.add_argument(
        "--check",
        metavar="NAME",
        help="check a plug-in, given by name, import path or entry point (default: list them)",
    )
    check.add_argument(
        "--easy", action="store_true", help="check also that a backfilling rule never delays the first waiting job"
    )
    check.add_argument(
        "--scenarios", metavar="N", default="300", help="number of scenarios, at most 100,000 (default 300)"
    )
    check.add_argument("--seed", metavar="SEED", default="0", help="seed of the scenarios (default 0)")


def main(arguments: argparse.Namespace) -> int:
    """Run the command; the exit status is 1 if a plug-in that is checked breaks anything."""
    from simulator.conformance import MOST_SCENARIOS, check_policy

    scenarios, seed = whole(arguments.scenarios, "--scenarios", 1, MOST_SCENARIOS), whole(arguments.seed, "--seed")
    if arguments.check is not None:
        report = check_policy(
            arguments.check,
            arguments.kind,
            easy=True if arguments.easy else None,
            scenarios=scenarios,
            seed=seed,
        )
        print(report)
        return 0 if report.ok else 1
    import shutil

    from experiments.commands.catalogue import catalogue, listed

    found = catalogue(None if arguments.kind is None else [arguments.kind])
    print(listed(found, shutil.get_terminal_size().columns))
    return 0

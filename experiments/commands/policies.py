"""``holdfast policies``: list the available plug-ins, or check one against its contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from holdfast.workloads.ground.parameters import Parameter, Seed, wholes

__all__ = ["Arguments", "main"]


#: Most scenarios of a check.
_MOST = 100_000
_CHECKING = "checking a plug-in"


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    kind: Annotated[
        str | None,
        Parameter(
            "kind of plug-in",
            default="all",
            names_in="holdfast.experiments.commands.catalogue:KINDS",
        ),
    ] = None
    check: Annotated[
        str | None,
        Parameter("check a plug-in, given by name, import path or entry point", default="list them", group=_CHECKING),
    ] = None
    easy: Annotated[
        bool, Parameter("check also that a backfilling rule never delays the first waiting job", group=_CHECKING)
    ] = False
    scenarios: Annotated[
        int, wholes(1, _MOST), Parameter(f"number of scenarios, at most {_MOST:,}", group=_CHECKING)
    ] = 300
    seed: Annotated[Seed, Parameter("seed of the scenarios", group=_CHECKING)] = 0


def main(arguments: Arguments) -> int:
    """Run the command; the exit status is 1 if a plug-in that is checked breaks anything."""
    from holdfast.simulator.conformance import check_policy

    if arguments.check is not None:
        report = check_policy(
            arguments.check,
            arguments.kind,
            easy=True if arguments.easy else None,
            scenarios=arguments.scenarios,
            seed=arguments.seed,
        )
        print(report)
        return 0 if report.ok else 1
    import shutil

    from holdfast.experiments.commands.catalogue import catalogue, format_catalogue

    found = catalogue(None if arguments.kind is None else [arguments.kind])
    print(format_catalogue(found, shutil.get_terminal_size().columns))
    return 0

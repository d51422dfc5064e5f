"""Checks of the rules of a sweep on a machine with partitions and shared nodes, before the first run."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.policies.mechanism import parse_mechanism
from holdfast.simulator.machine_rules import check_machine_rules
from holdfast.simulator.options import Options
from holdfast.workloads.machines.machine_file import read_machine

__all__ = ["check_on_machine"]


def check_on_machine(path: str, placement: str | None, rules: Iterable[tuple[str, Options]], *, typed: bool) -> None:
    """Refuse a mechanism with options that the machine of a log does not have.

    Parameters
    ----------
    path
        File of the machine.
    placement
        Name of the placement rule; None: ``pack``.
    rules
        The combinations of mechanism and options.
    typed
        Whether the jobs get types for mechanisms.

    Raises
    ------
    InputError
        If the file is not usable, or names the first option that is refused.
    """
    machine = read_machine(path)
    for mechanism, options in rules:
        check_machine_rules(machine, placement or "pack", parse_mechanism(mechanism), options, typed=typed)

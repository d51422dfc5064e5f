"""Nodes of the jobs of a run in a directory of ``holdfast run``."""

from __future__ import annotations

from pathlib import Path

from holdfast.experiments.output.filenames import table_name
from holdfast.experiments.output.manifest import Sealed
from holdfast.experiments.recordings.allocation_table import read_allocation_table
from holdfast.experiments.recordings.allocations import Allocations
from holdfast.experiments.recordings.run_file import RUN, open_run
from holdfast.experiments.recordings.variants import chosen_variant
from holdfast.simulator.resources.machine_replay import PLACEMENTS
from holdfast.workloads.ground.errors import TraceError, UnknownNameError
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import read_machine
from holdfast.workloads.outages.file import read_outages
from holdfast.workloads.outages.outage import Outage
from holdfast.workloads.outages.places import outage_places

__all__ = ["has_pools", "machine_file_name", "read_allocations", "stored_outages"]


def read_allocations(directory: str | Path, run: str | None = None) -> Allocations | None:
    """The allocations of one run of a directory of ``holdfast run``.

    Parameters
    ----------
    directory
        The directory.
    run
        Run to read, if there are several.

    Returns
    -------
    Allocations or None
        None if the machine is one pool, or its partitions were simulated as pools, which count nodes.

    Raises
    ------
    InputError
        If a file was changed, is missing, or names nodes that the machine does not have.
    """
    folder = Path(directory)
    result = open_run(folder)
    variant = chosen_variant(folder, result.content, run)
    described = variant.content.get("machine")
    if not isinstance(described, dict):
        return None
    path = result.find(table_name("allocations", variant.label))
    if path is None:
        return None
    machine = read_machine(
        result.need(machine_file_name(str(variant.content.get("job_table", "jobs.csv"))), "the machine: run it again")
    )
    placement = str(described.get("placement", "pack"))
    if placement not in PLACEMENTS:
        raise TraceError(folder / RUN, None, str(UnknownNameError("placement", placement, PLACEMENTS)))
    jobs, past = read_allocation_table(path, machine)
    outages = stored_outages(result, variant.label, machine)
    places = list(zip(outages, outage_places(outages, machine), strict=True))
    return Allocations(machine, placement, jobs, past, places)


def stored_outages(result: Sealed, label: str, machine: Machine) -> list[Outage]:
    """The outages of a run, of a machine with partitions."""
    given = result.find(table_name("outages", label)) or result.find("outages.csv")
    return [] if given is None else read_outages(given, machine=machine)


def has_pools(directory: str | Path, run: str | None = None) -> bool:
    """Whether a run is of a machine with partitions simulated as pools."""
    folder = Path(directory)
    result = open_run(folder)
    variant = chosen_variant(folder, result.content, run)
    has_machine = isinstance(variant.content.get("machine"), dict)
    return has_machine and result.find(table_name("allocations", variant.label)) is None


def machine_file_name(table: str) -> str:
    """The file of the machine of a job table.

    >>> machine_file_name("jobs.csv"), machine_file_name("table-seed_3.csv")
    ('machine.toml', 'machine-seed_3.toml')
    """
    return "machine.toml" if table == "jobs.csv" else f"machine-{Path(table).stem.removeprefix('table-')}.toml"

"""The state of a machine with partitions, shared nodes and GPUs at a time of its log, and a request to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.experiments.commands.options.cluster_state_options import Present, Question
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.parameters import Group, Parameter, Values, whole, wholes
from holdfast.workloads.ground.units import LARGEST_SIZE

if TYPE_CHECKING:
    from holdfast.workloads.machines.request import ResourceRequest

__all__ = ["NodeRequest", "RequestOptions", "describes_machine", "read_machine_present"]

_REQUEST = "request of a job on a machine file"


def _gpus(text: str) -> dict[str, int]:
    from holdfast.workloads.machines.amounts import LARGEST_AMOUNT, gpus_by_kind

    kind, _, count = text.rpartition(":")
    number = whole(count, "", 0, LARGEST_AMOUNT)
    return gpus_by_kind({kind: number} if kind else number, "")


def _gpu_text(text: str) -> str:
    _gpus(text)
    return text


def _memory(text: str) -> int:
    from holdfast.workloads.machines.amounts import mebibytes

    return mebibytes(text, "")


@dataclass(eq=False, repr=False)
class RequestOptions:
    """What a job asks of its nodes; empty or None: nothing.

    Attributes
    ----------
    partition, features
        Partitions, and a condition on the nodes.
    cores, memory, gpus
        On each node.
    """

    partition: Annotated[
        str, Parameter("partition, or several as a,b", default="the usual one", group=_REQUEST, metavar="NAME")
    ] = ""
    cores: Annotated[
        int | None, wholes(1, LARGEST_SIZE), Parameter("cores on each node", default="1", group=_REQUEST)
    ] = None
    memory: Annotated[
        int | None,
        Values("N", _memory),
        Parameter("memory on each node [MiB], or as 64G", default="none", group=_REQUEST),
    ] = None
    gpus: Annotated[
        str, Values("N", _gpu_text), Parameter("GPUs on each node, as 2 or v100:2", default="none", group=_REQUEST)
    ] = ""
    features: Annotated[str, Parameter("features of the nodes, as a&b", default="any", group=_REQUEST)] = ""

    @property
    def given(self) -> list[str]:
        """Names of the options that are given."""
        return [name for name in ("partition", "cores", "memory", "gpus", "features") if getattr(self, name)]

    def request(self, nodes: int | None) -> ResourceRequest:
        """The request of a job, on one node by default."""
        from holdfast.workloads.machines.request import ResourceRequest

        return ResourceRequest(
            nodes=nodes or 1,
            cores=self.cores or 1,
            memory=self.memory,
            gpus=_gpus(self.gpus) if self.gpus else {},
            features=self.features,
            partitions=tuple(filter(None, self.partition.split(","))),
        )


NodeRequest = Annotated[RequestOptions, Group(_REQUEST)]


def describes_machine(machine: int | Path | None) -> bool:
    """Whether an option names a machine file instead of a size or a list of nodes."""
    return isinstance(machine, Path) and machine.suffix == ".toml"


def read_machine_present(question: Question) -> Present:
    """Read a log on the machine of a file, and determine the state at a time.

    Raises
    ------
    InputError
        If a file or an option is not usable, or not modelled on a machine.
    """
    from holdfast.experiments.commands.options.machine_options import check_reading, fit_log, machine_remarks
    from holdfast.experiments.forecast.known_past import past_log
    from holdfast.experiments.forecast.machine_requests import MachineRequests
    from holdfast.experiments.forecast.machine_state import state_at
    from holdfast.experiments.forecast.time_parsing import parse_moment
    from holdfast.simulator.machine_rules import check_machine_replay
    from holdfast.simulator.options import Options
    from holdfast.workloads.logs.clock import LogClock
    from holdfast.workloads.logs.one_pool import missing_requests
    from holdfast.workloads.outages.file import read_outages

    asked, rules = question.present, question.rules
    for name in ("queue", "usage", "mechanism"):
        if getattr(asked, name) is not None:
            raise InputError(
                f"--{name} must be left out with a machine file (--machine {rules.machine}): the state is that of LOG "
                "at a time, which has the requests of all jobs"
            )
    if rules.failure_mtbf is not None:
        raise ParameterError("--failure-mtbf", "left out with a machine file (--machine)", rules.failure_mtbf)
    if asked.at is None:
        raise InputError("give the time of the forecast with --at")
    check_reading(None, rules.reading)
    options = Options(order=rules.order or "fcfs", backfilling=rules.backfilling or "easy")
    check_machine_replay(options)
    trace, workload = fit_log(asked.log, str(rules.machine), rules.reading, cancelled=True)
    if "slurm" in options.backfilling:
        workload = replace(workload, placement="slurm")
    at = parse_moment(asked.at, trace, "--at")
    size = trace.nodes or 0
    clock = LogClock.of_trace(trace)
    outages = [] if rules.outages is None else read_outages(rules.outages, clock=clock, machine=workload.machine)
    state = state_at(trace, at, size, outages)
    notes = [
        *question.notes,
        *machine_remarks(workload, trace.jobs.texts("user"), rules.reading),
        *missing_requests(trace),
        *([state.describe_excluded_jobs()] if state.left_out else []),
        "running jobs are placed anew on the machine, and these forecasts have not been tested on the past",
    ]
    known, requests = past_log(trace, at), MachineRequests.from_log(trace, workload, at, options.order)
    return Present(known, clock, at, state, f"--at {asked.at}", (), tuple(notes), requests)

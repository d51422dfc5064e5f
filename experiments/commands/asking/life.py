"""The life of jobs on the command line: withdrawals, dependencies and the starting state that a log records."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from experiments.commands.asking.arguments import duration
from workloads.ground.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workloads.logs.trace import Trace
    from workloads.table.job import Job

__all__ = ["Life", "add_life", "life_of"]

#: What becomes of jobs that were withdrawn before they started.
_CANCELLED = ("leave-out", "keep")


@dataclass(frozen=True)
class Life:
    """What is to be followed of what a log records.

    Attributes
    ----------
    cancelled
        ``keep`` the jobs that were withdrawn before they started, or ``leave-out``.
    dependencies
        Whether jobs are submitted after the jobs that they depend on.
    starting_state, until
        From when and to when the log is cut, after its first submit [s]; None: it is not.
    """

    cancelled: str = "leave-out"
    dependencies: bool = False
    starting_state: float | None = None
    until: float | None = None

    def __post_init__(self) -> None:
        if self.cancelled not in _CANCELLED:
            raise UnknownNameError("treatment of cancelled jobs", self.cancelled, _CANCELLED)
        begin, end = self.starting_state or 0.0, self.until
        if end is not None and end <= begin:
            raise InputError(f"--until must be later than the beginning of {begin:g} s, not {end:g} s")

    @property
    def told(self) -> dict[str, Any]:
        """As ``run.json`` tells it; nothing where nothing is asked for."""
        return {} if self == Life() else {"life": asdict(self)}

    def of_trace(self, trace: Trace, nodes: int) -> Trace:
        """The trace on a machine, with the jobs that are asked for."""
        from workloads.logs.startingstate import cut_until, starting_state
        from workloads.logs.withdrawals import keep_cancelled

        if self.cancelled == "keep":
            trace = keep_cancelled(trace)
        trace = trace.on_machine(nodes)
        first = min((job.submit for job in trace.jobs), default=0.0)
        if self.starting_state is not None:
            trace = starting_state(trace, self.starting_state)
        return trace if self.until is None else cut_until(trace, first, self.until)

    def of_jobs(self, trace: Trace, jobs: Sequence[Job]) -> tuple[list[Job], str]:
        """The jobs with what they depend on, and what is to be said of all this."""
        from experiments.traces.description import life_of_trace, listed
        from workloads.logs.dependencies import follow_dependencies

        told = life_of_trace(trace) if self != Life() else []
        linked = list(jobs)
        if self.dependencies:
            linked, remarks = follow_dependencies(trace, jobs)
            followed = sum(job.preceding is not None for job in linked)
            told.append(f"dependencies: {followed:,} followed{'; ' + listed(remarks) if remarks else ''}")
        return linked, "".join(f"\n{line}" for line in told)

    def refuse_table(self, path: str) -> None:
        """Refuse all of it for a job table.

        Raises
        ------
        InputError
            If any of it is asked for.
        """
        if self != Life():
            raise InputError(
                f"{path}: --cancelled, --dependencies, --starting-state and --until are for a trace: a job table says "
                "all that in its columns cancelled_at, preceding, think_time and running_since"
            )


def add_life(parser: argparse.ArgumentParser) -> None:
    """Arguments of what a trace records of the life of its jobs."""
    group = parser.add_argument_group("life of jobs")
    group.add_argument(
        "--cancelled",
        metavar="HOW",
        default="leave-out",
        help="jobs withdrawn before they started: leave-out (default) or keep",
    )
    group.add_argument(
        "--dependencies", action="store_true", help="submit jobs after the jobs that they depend on, by the trace"
    )
    group.add_argument(
        "--starting-state", metavar="TIME", help="begin so long after the first submit, with who ran and waited then"
    )
    group.add_argument("--until", metavar="TIME", help="leave out jobs submitted so long after the first submit")


def life_of(arguments: argparse.Namespace) -> Life:
    """What the arguments ask for."""
    begin, end = arguments.starting_state, arguments.until
    return Life(
        cancelled=arguments.cancelled,
        dependencies=arguments.dependencies,
        starting_state=None if begin is None else duration(begin, "--starting-state"),
        until=None if end is None else duration(end, "--until"),
    )

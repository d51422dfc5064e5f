"""Options for cancellations, dependencies and the starting state of a logged workload."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from holdfast.workloads.ground.dates import TIME_OR_DATE
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.parameters import Parameter, choices

if TYPE_CHECKING:
    from holdfast.workloads.logs.trace import Trace
    from holdfast.workloads.table.jobs import Jobs

__all__ = ["Life"]

#: Group of the options in the help.
_GROUP = "life of jobs"


@dataclass(frozen=True)
class Life:
    """Options for the recorded events of jobs that a simulation follows.

    Attributes
    ----------
    cancelled
        ``keep`` jobs that were cancelled before they started, or ``leave-out``.
    dependencies
        Whether jobs are submitted after the jobs that they depend on.
    starting_state, until
        Bounds at which the log is cut, after its first submit [s], or dates; None: not cut.
    """

    cancelled: Annotated[
        Literal["leave-out", "keep"],
        Parameter("treatment of jobs cancelled before they started", group=_GROUP),
    ] = "leave-out"
    dependencies: Annotated[
        bool, Parameter("submit each job after the job that it depends on in the trace", group=_GROUP)
    ] = False
    starting_state: Annotated[
        float | str | None,
        TIME_OR_DATE,
        Parameter(
            "start of the replay, with the jobs then running and queued [s after the first submit, or a date in UTC]",
            default="0",
            group=_GROUP,
        ),
    ] = None
    until: Annotated[
        float | str | None,
        TIME_OR_DATE,
        Parameter(
            "end of the submits to replay [s after the first submit, or a date in UTC]",
            default="the last",
            group=_GROUP,
        ),
    ] = None

    def __post_init__(self) -> None:
        known = choices(Life)["cancelled"]
        if self.cancelled not in known:
            raise UnknownNameError("treatment of cancelled jobs", self.cancelled, known)
        if not isinstance(self.starting_state, str) and not isinstance(self.until, str):
            _check_order(self.starting_state or 0.0, self.until)

    @property
    def manifest_entry(self) -> dict[str, Any]:
        """Entry of ``run.json``; empty if all options are defaults."""
        return {} if self == Life() else {"life": asdict(self)}

    def of_trace(self, trace: Trace, nodes: int) -> Trace:
        """Restrict a trace to the machine and to the jobs asked for."""
        from holdfast.workloads.logs.cancellations import keep_cancelled_jobs

        if self.cancelled == "keep":
            trace = keep_cancelled_jobs(trace)
        return self.cut(trace.on_machine(nodes))

    def cut(self, trace: Trace) -> Trace:
        """The trace from the starting state on, without the jobs that are submitted from ``until`` on."""
        from holdfast.workloads.logs.clock import LogClock
        from holdfast.workloads.logs.starting_state import cut_until, starting_state

        if self.starting_state is None and self.until is None:
            return trace
        clock = LogClock.of_trace(trace)
        begin, end = (
            clock.date(bound, name) - clock.first if isinstance(bound, str) else bound
            for bound, name in ((self.starting_state, "--starting-state"), (self.until, "--until"))
        )
        if begin is not None and begin < 0:
            first = clock.show(clock.first, seconds=True)
            raise ParameterError("--starting-state", f"at the first submit, {first}, or later", self.starting_state)
        _check_order(begin or 0.0, end)
        if begin is not None:
            trace = starting_state(trace, begin)
        return trace if end is None else cut_until(trace, clock.first, end)

    def of_jobs(self, trace: Trace, jobs: Jobs) -> tuple[Jobs, str]:
        """Link jobs to those they depend on; returns also the lines to print."""
        from holdfast.experiments.traces.description import life_of_trace, list_counts
        from holdfast.workloads.logs.dependencies import follow_dependencies

        lines = life_of_trace(trace) if self != Life() else []
        linked = jobs
        if self.dependencies:
            linked, remarks = follow_dependencies(trace, jobs)
            followed = sum(number is not None for number in linked.column("preceding").tolist())
            lines.append(f"dependencies: {followed:,} followed{'; ' + list_counts(remarks) if remarks else ''}")
        return linked, "".join(f"\n{line}" for line in lines)

    def refuse_table(self, path: str) -> None:
        """Refuse these options for a job table.

        Raises
        ------
        InputError
            If any of them is given.
        """
        if self != Life():
            raise InputError(
                f"{path}: --cancelled, --dependencies, --starting-state and --until need a trace; a job table has the "
                "columns cancelled_at, preceding, think_time and running_since instead"
            )


def _check_order(begin: float, end: float | None) -> None:
    if end is not None and end <= begin:
        raise InputError(
            f"--until must be later than the start of the replay at {begin:g} s, not {end:g} s (after the first submit)"
        )

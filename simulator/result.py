"""The result of a simulation: one record for each job, the event log, samples over time, and the accounting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from simulator.engine import Sample
from simulator.eventlog import Entry
from simulator.options import Options
from workloads.job import JobType
from workloads.units import SECOND

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Accounting", "JobRecord", "Result"]


class JobRecord(NamedTuple):
    """What became of one job; times in ticks of the job table's clock.

    Attributes
    ----------
    job_id, type, nodes
        As in the job table; under the baseline the type is only a label.
    submit, start, end
        First submit (of an on-demand job the actual arrival), first start, completion; None of a no-show.
    runtime
        Undisturbed runtime.
    preemptions, shrinks
        How often.
    status
        ``completed``, ``killed`` (at its walltime) or ``no_show``.
    lost
        Node-ticks that preemptions have cost.
    """

    job_id: int
    type: JobType
    submit: int | None
    start: int | None
    end: int | None
    nodes: int
    runtime: int
    preemptions: int
    shrinks: int
    status: str
    lost: int


class Accounting(NamedTuple):
    """Node-ticks from the first submit to the last completion; they sum to N x elapsed exactly.

    Attributes
    ----------
    compute, setup, checkpoint
        Of all runs; the setup of a run that was preempted is lost.
    lost, warning
        To preemptions: setups, unsecured compute and partial dumps; and the time under warning.
    held
        Reserved, or waiting for a warned victim.
    idle
        Neither occupied nor held.
    """

    compute: int
    setup: int
    checkpoint: int
    lost: int
    warning: int
    held: int
    idle: int


@dataclass(frozen=True)
class Result:
    """What a simulation has shown.

    Attributes
    ----------
    mechanism
        ``baseline`` or e.g. ``CUA-SPAA``.
    nodes
        Size of the machine.
    options
        How it was operated.
    records
        One for each job, in the order of the job table.
    entries
        The event log, in order of time; empty if it was switched off.
    samples
        (time, busy nodes, held nodes, waiting jobs, nodes they ask for) at the end of each instant.
    accounting
        Where all node-ticks went.
    losses
        (time, node-ticks) of each loss to a preemption.
    latencies
        Wall-clock seconds of each decision with its scheduling pass.
    engine_seconds
        Wall-clock seconds of the simulation alone.
    origin
        Ticks of the job table's clock at which the simulated clock stands at 0.
    """

    mechanism: str
    nodes: int
    options: Options
    records: Sequence[JobRecord]
    entries: Sequence[Entry]
    samples: Sequence[Sample]
    accounting: Accounting
    losses: Sequence[tuple[int, int]]
    latencies: Sequence[float]
    engine_seconds: float
    origin: int

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row a job, as in the result file of job-table.md; seconds, nodes and node-seconds."""
        import pandas as pd

        from simulator.metrics import job_rows

        return pd.DataFrame.from_records(list(job_rows(self)))

    @cached_property
    def events(self) -> pd.DataFrame:
        """The event log: time [s], event, job_id, nodes before, nodes after, cause."""
        import pandas as pd

        frame = pd.DataFrame(list(self.entries), columns=list(Entry._fields))
        frame["time"] = (frame["time"] + self.origin) / SECOND
        return frame

    def timeline(self) -> pd.DataFrame:
        """The machine over time: a row for each instant at which something happened, valid until the next.

        Returns
        -------
        pandas.DataFrame
            time [s], busy, held and idle nodes, waiting jobs, and the nodes that they ask for.
        """
        import pandas as pd

        frame = pd.DataFrame(list(self.samples), columns=["time", "busy", "held", "waiting_jobs", "waiting_nodes"])
        frame["time"] = (frame["time"] + self.origin) / SECOND
        frame.insert(3, "idle", self.nodes - frame["busy"] - frame["held"])
        return frame

    def summary(
        self, *, instant_tolerance: float = 120.0, warmup: float = 0.0, cooldown: float = 0.0
    ) -> Mapping[str, str | int | float]:
        """The metrics of hybrid-workloads.md, section 7, as a pandas Series.

        Parameters
        ----------
        instant_tolerance
            How late an on-demand job may start and still count as started instantly [s].
        warmup, cooldown
            Time after the first submit and before the last that is left out [s].
        """
        import pandas as pd

        from simulator.metrics import Window, summarize

        values = summarize(self, instant_tolerance=instant_tolerance, window=Window(warmup, cooldown))
        return pd.Series(values, name=self.mechanism, dtype=object)  # type: ignore[return-value]  # it is a mapping

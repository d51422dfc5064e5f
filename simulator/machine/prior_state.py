"""Information about the time before a simulation that begins in a given state.

Running and waiting jobs are rows of the job table. Two things are not: the past usage of each account, which some queue
orders need, and the nodes of the running jobs, which a backfilling rule on named nodes needs. Source: docs/forecast.md,
"The state".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import log

import numpy as np
import numpy.typing as npt

__all__ = ["PastUsage", "PriorState"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PastUsage:
    """Usage of the machine by account before a simulation begins, as runs or as totals already decayed.

    Attributes
    ----------
    accounts
        Names of accounts: the project of a job, the user where it has none.
    number
        Index of the account of each run, shape (runs,).
    nodes
        Nodes of each run, shape (runs,).
    starts, ends
        Start and end of each run [s on the clock of the job table], shape (runs,); an infinite end: it still runs.
    totals
        Further decayed usage by account at the beginning of the simulation [node-seconds].

    Examples
    --------
    >>> usage = PastUsage.from_runs(["physics", "chemistry"], [4, 1], [0.0, 0.0], [100.0, 100.0])
    >>> {account: round(used) for account, used in usage.at(100.0, half_life=1e9).items()}
    {'physics': 400, 'chemistry': 100}
    >>> {account: round(used) for account, used in usage.at(1100.0, half_life=1000.0).items()}
    {'physics': 193, 'chemistry': 48}
    """

    accounts: tuple[str, ...] = ()
    number: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    nodes: Floats = field(default_factory=lambda: np.empty(0))
    starts: Floats = field(default_factory=lambda: np.empty(0))
    ends: Floats = field(default_factory=lambda: np.empty(0))
    totals: Mapping[str, float] = field(default_factory=dict)
    _known: dict[tuple[float, float], dict[str, float]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def from_runs(
        cls,
        accounts: Iterable[str],
        nodes: npt.ArrayLike,
        starts: npt.ArrayLike,
        ends: npt.ArrayLike,
    ) -> PastUsage:
        """Usage of some runs: account, nodes, start and end [s] of each."""
        indices: dict[str, int] = {}
        number = np.array([indices.setdefault(account, len(indices)) for account in accounts], dtype=np.int64)
        sizes, begins, finals = (np.asarray(values, dtype=float) for values in (nodes, starts, ends))
        return cls(tuple(indices), number, sizes, begins, finals)

    @property
    def since(self) -> float | None:
        """Start of the earliest run [s]; None: there is none."""
        return float(self.starts.min()) if self.starts.size else None

    @property
    def last_end(self) -> float | None:
        """Last end of a run [s]; None: there is none."""
        return float(self.ends.max()) if self.ends.size else None

    def until(self, time: float) -> PastUsage:
        """Usage as it was known at a time [s]: runs that had started, without ends that came later."""
        chosen = self.starts <= time
        ends = self.ends[chosen]
        ends = np.where(ends <= time, ends, np.inf)
        columns = {name: getattr(self, name)[chosen] for name in ("number", "nodes", "starts")}
        return replace(self, **columns, ends=ends)

    def at(self, time: float, half_life: float) -> Mapping[str, float]:
        """Decayed usage by account.

        Parameters
        ----------
        time
            Time of evaluation [s]; later usage does not count.
        half_life
            Time after which a node-second counts half [s].

        Returns
        -------
        dict
            Node-seconds of each account that has used any.
        """
        key = time, half_life
        if key not in self._known:
            rate = log(2) / half_life
            starts, ends = np.minimum(self.starts, time), np.minimum(self.ends, time)
            used = self.nodes / rate * np.exp(-rate * (time - ends)) * -np.expm1(-rate * (ends - starts))
            sums = np.bincount(self.number, weights=used, minlength=len(self.accounts)).tolist()
            found = {account: total for account, total in zip(self.accounts, sums, strict=True) if total > 0}
            for account, total in self.totals.items():
                found[account] = found.get(account, 0.0) + total
            self._known[key] = found
        return self._known[key]


@dataclass(frozen=True)
class PriorState:
    """Information from the time before a simulation that is not in its job table.

    Attributes
    ----------
    usage
        Usage of the machine by account; None: unknown, taken as zero.
    places
        Nodes of running jobs by job id, as bits of an integer; the lowest bit is the first node. The backfilling rule
        assigns nodes to jobs that are missing here.
    origin
        First submit of the log from which the state was taken [s]: some orders (``f1``) depend on the time since then;
        None: first submit of the job table.
    """

    usage: PastUsage | None = field(default=None, compare=False)
    places: Mapping[int, int] = field(default_factory=dict)
    origin: float | None = None

"""Priorities of the waiting jobs of a snapshot, computed as Slurm does, beside what ``sprio -l`` printed.

Sources: sprio(1), sshare(1), squeue(1) of Slurm 22.05.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from holdfast.experiments.slurm.site_options import UNKNOWN_SHARES, SiteOptions, read_seconds
from holdfast.experiments.slurm.site_snapshot import Snapshot
from holdfast.policies.orders.slurm_priority import (
    Association,
    Factors,
    Weights,
    age_factor,
    fair_tree,
    last_calculation,
    size_factor,
)
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.documents import read_json
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.numbers import decimal, integer
from holdfast.workloads.machines.slurm_conf import SiteConfiguration, read_configuration

__all__ = ["PRIORITY_COLUMNS", "priority_rows", "with_account_shares"]

#: Columns of the table of priorities, with their headings.
PRIORITY_COLUMNS = (
    Quantity("job_id", "job"),
    Quantity("age"),
    Quantity("association", "assoc"),
    Quantity("fairshare", "fair share"),
    Quantity("size"),
    Quantity("partition"),
    Quantity("qos", "QOS"),
    Quantity("nice"),
    Quantity("plan_cpus", "CPUs of the plan"),
    Quantity("priority"),
    Quantity("sprio"),
    Quantity("difference"),
)
_WEIGHTS = {
    "age": "priorityweightage",
    "association": "priorityweightassoc",
    "fairshare": "priorityweightfairshare",
    "size": "priorityweightjobsize",
    "partition": "priorityweightpartition",
    "qos": "priorityweightqos",
}
#: Columns of ``sprio -l`` that are read.
_PRINTED = ("PRIORITY", "AGE", "JOBSIZE")
#: Value of a nice value of 0 in squeue's JSON, and in Slurm's own numbers.
_NO_NICE = 2_147_483_648


def priority_rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Priorities of the waiting jobs of a snapshot.

    Parameters
    ----------
    snapshot
        With configuration, queue as JSON, nodes, partitions, and the shares (sshare) where fair share has a weight;
        priorities of QOS (``qos.txt``) where these have.

    Returns
    -------
    list of dict
        By descending priority: :data:`PRIORITY_COLUMNS`; ``sprio`` is what Slurm printed, and ``difference`` ours less
        that; None where it printed nothing.

    Raises
    ------
    InputError
        If a file is missing or cannot be read, or the priorities are not those of priority/multifactor.
    """
    site = read_configuration(
        [snapshot.need("config.txt"), snapshot.need("nodes.txt"), snapshot.need("partitions.txt")]
    )
    if site.value("prioritytype") != "priority/multifactor":
        raise InputError(f"{snapshot.directory}: PriorityType must be priority/multifactor for priorities of jobs")
    path = snapshot.need("queue.json")
    document = read_json(path)
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list):
        raise TraceError(path, None, "is not what 'squeue --json' prints")
    waiting = [
        job for job in jobs if isinstance(job, dict) and job.get("job_state") == "PENDING" and job.get("priority")
    ]
    printed = _sprio_columns(snapshot)
    calculator = _Calculator(snapshot, site)
    try:
        calculator.find_time(waiting, printed)
        rows = [calculator.row(job, printed.get(job["job_id"])) for job in waiting]
    except (KeyError, TypeError, ValueError):
        raise TraceError(
            path, None, "lacks times, sizes or names of its jobs, as 'squeue --json' prints them"
        ) from None
    return sorted(rows, key=lambda row: (-row["priority"], row["job_id"]))


class _Calculator:
    """What the priorities of all jobs of a snapshot have in common."""

    def __init__(self, snapshot: Snapshot, site: SiteConfiguration) -> None:
        self._weights = Weights(**{name: decimal(site.value(key, "0")) for name, key in _WEIGHTS.items()})
        path = snapshot.need("config.txt")
        self._longest = read_seconds(path, "PriorityMaxAge", site.value("prioritymaxage", "7-0"))
        self._period = read_seconds(path, "PriorityCalcPeriod", site.value("prioritycalcperiod", "5"))
        self._began, self._now = _time(site.value("boot_time")), snapshot.at
        self._calculated = snapshot.at
        flags = site.value("priorityflags").upper().split(",")
        self._always = "ACCRUE_ALWAYS" in flags
        self._small = site.value("priorityfavorsmall").lower() in ("yes", "1", "true")
        self._nodes = site.node_count()
        cpus = [line.get("cputot", line.get("cpus", "0")) for line in site.nodes]
        self._cpus = sum(integer(count) for count in cpus)
        if not self._nodes or not self._cpus:
            raise TraceError(snapshot.need("nodes.txt"), None, "does not say how many nodes and CPUs there are")
        self._partitions = _shares_of_largest(
            {line["partitionname"]: decimal(line.get("priorityjobfactor", "1")) for line in site.partitions}
        )
        self._qos = _shares_of_largest(_table(snapshot, "qos.txt", self._weights.qos, "Name", "Priority"))
        self._fairshare = _fair_shares(snapshot) if self._weights.fairshare else {}

    def find_time(self, jobs: Sequence[Mapping[str, Any]], printed: Mapping[int, Mapping[str, int]]) -> None:
        """Find the time of the last calculation, which Slurm prints nowhere: that which explains the most printed ages.

        Without these it is a whole number of periods after the begin of the controller.
        """
        self._calculated = last_calculation(self._now, self._began, self._period)
        ages = [(job, printed[int(job["job_id"])]["AGE"]) for job in jobs if int(job["job_id"]) in printed]
        if not ages or not self._weights.age:
            return
        # A busy controller calculates later.
        first = int(self._now - 2 * self._period)
        self._calculated = max(
            range(int(self._now), first - 1, -1),
            key=lambda at: sum(abs(self._weights.age * self._age(job, at) - age) <= 0.5 for job, age in ages),
        )

    def _age(self, job: Mapping[str, Any], calculated: float) -> float:
        since = float(job["submit_time"] if self._always else job.get("accrue_time") or 0)
        # A job is calculated when it is submitted, and when it becomes eligible.
        return age_factor(max(calculated, float(job["submit_time"])), since, self._longest) if since else 0.0

    def row(self, job: Mapping[str, Any], printed: Mapping[str, int] | None) -> dict[str, Any]:
        """Priority of a job, beside that which sprio printed."""
        nodes, cpus = int(job["node_count"] or 1), int(job["cpus"] or 0)
        if printed is not None and self._weights.size:
            cpus = self._planned_cpus(nodes, cpus, printed["JOBSIZE"])
        nice = int(job.get("nice") or 0)
        factors = Factors(
            age=self._age(job, self._calculated),
            fairshare=self._fairshare.get((job["account"], job["user_name"]), 0.0),
            size=size_factor(nodes, cpus, self._nodes, self._cpus, small=self._small),
            partition=self._partitions.get(job["partition"].split(",")[0], 0.0),
            qos=self._qos.get(job["qos"], 0.0),
            nice=nice - _NO_NICE if nice > _NO_NICE // 2 else nice,
        )
        # sprio rounds the factors, and Slurm truncates their sum.
        parts = {name: round(part) for name, part in self._weights.parts(factors).items()}
        priority = self._weights.priority(factors)
        sprio = None if printed is None else printed["PRIORITY"]
        return {
            "job_id": int(job["job_id"]),
            **parts,
            "nice": factors.nice,
            "plan_cpus": cpus,
            "priority": priority,
            "sprio": sprio,
            "difference": None if sprio is None else priority - sprio,
        }

    def _planned_cpus(self, nodes: int, cpus: int, size: int) -> int:
        """CPUs of the last plan of a job, which Slurm prints nowhere but in the size factor."""

        def fits(count: int) -> bool:
            factor = size_factor(nodes, count, self._nodes, self._cpus, small=self._small)
            return abs(self._weights.size * factor - size) <= 0.5

        return next(
            (count for count in sorted(range(1, self._cpus + 1), key=lambda c: (abs(c - cpus), c)) if fits(count)), cpus
        )


def _shares_of_largest(values: Mapping[str, float]) -> dict[str, float]:
    largest = max(values.values(), default=0.0)
    return {name: value / largest if largest else 0.0 for name, value in values.items()}


def with_account_shares(found: SiteOptions, sshare: str) -> SiteOptions:
    """Options of a site with the shares of its accounts, which the configuration lacks.

    Parameters
    ----------
    found
        Options of the configuration; they stay as they are unless fair share has a weight in their order.
    sshare
        Output of ``sshare -a -l -P``. Accounts below other accounts, or without shares of their own, change nothing:
        the order knows one level of accounts.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    order = found.options.get("order", "")
    if not order.startswith("multifactor") or " fairshare=" not in order:
        return found
    associations = list(_associations(sshare))
    # Users of the root account rank beside the other accounts.
    shares = {_owner(one)[0]: one.shares for one in associations if one.parent == "root"}
    nested = any(not one.is_user for one in associations if one.parent not in ("", "root"))
    if nested or not shares or None in shares.values():
        return found
    text = "+".join(f"{name}:{share:g}" for name, share in sorted(shares.items()))
    options = {**found.options, "order": f"{order} shares={text}"}
    return replace(found, options=options, left_out=[item for item in found.left_out if item[0] != UNKNOWN_SHARES])


def _fair_shares(snapshot: Snapshot) -> dict[tuple[str, str], float]:
    """Fair-share factor by account and user, from the usages and shares that sshare prints."""
    associations = list(_associations(snapshot.need("sshare.txt")))
    factors = fair_tree(associations)
    return {_owner(one): factors[one.name] for one in associations if one.is_user}


def _owner(association: Association) -> tuple[str, str]:
    """Account and user; the user of an account is empty."""
    account, _, user = association.name.partition("/")
    return account, user


def _associations(path: str) -> Iterator[Association]:
    """Accounts, and their users as ``ACCOUNT/USER``, that sshare prints."""
    above: list[tuple[int, str]] = []
    for number, row in enumerate(_rows(path, ("Account", "User", "RawShares", "RawUsage")), 2):
        account, user = row["Account"].strip(), row["User"].strip()
        depth = len(row["Account"]) - len(row["Account"].lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        parent = above[-1][1] if above else ""
        name = f"{account}/{user}" if user else account
        if not user:
            above.append((depth, name))
        shares = row["RawShares"].strip()
        try:
            share = None if shares == "parent" else decimal(shares or "1")
            usage = decimal(row["RawUsage"].strip() or "0")
        except ValueError:
            raise TraceError(path, number, "RawShares and RawUsage must be numbers") from None
        yield Association(name, parent, bool(user), share, usage)


def _sprio_columns(snapshot: Snapshot) -> dict[int, dict[str, int]]:
    """The columns that ``sprio -l`` printed of each job."""
    path = snapshot.find("sprio.txt")
    lines = read_text(path).splitlines() if path else []
    names = lines[0].split() if lines else []
    found: dict[int, dict[str, int]] = {}
    for line in lines[1:]:
        cells = dict(zip(names, line.split(), strict=False))
        job = cells.get("JOBID", "")
        if job.isdecimal() and all(cells.get(name, "").isdecimal() for name in _PRINTED):
            found[int(job)] = {name: int(cells[name]) for name in _PRINTED}
    return found


def _table(snapshot: Snapshot, file: str, weight: float, key: str, value: str) -> dict[str, float]:
    """Two columns of a table with ``|`` between its cells; nothing is read where the factor has no weight."""
    if not weight:
        return {}
    return {row[key].strip(): decimal(row[value].strip() or "0") for row in _rows(snapshot.need(file), (key, value))}


def _rows(path: str, needed: Sequence[str]) -> list[dict[str, str]]:
    lines = read_text(path).splitlines()
    head = [name.strip() for name in lines[0].split("|")] if lines else []
    missing = [name for name in needed if name not in head]
    if missing:
        raise TraceError(path, 1, f"has no column {missing[0]}")
    return [dict(zip(head, line.split("|"), strict=False)) for line in lines[1:] if line.count("|") >= len(head) - 1]


def _time(text: str) -> float:
    """Seconds since 1970 of a time in UTC; infinite: it is not known, and priorities are exact at each instant."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return float("inf")

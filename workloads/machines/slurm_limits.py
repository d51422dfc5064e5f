"""Limits on running jobs from Slurm's database: tables of ``sacctmgr -P show qos`` and ``show assoc``.

Source: sacctmgr(1); slurm.schedmd.com, resource_limits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.machines.machine import Limit, Quota
from holdfast.workloads.machines.slurm_tables import parse_amounts, table_rows

__all__ = [
    "LIMIT_TABLES",
    "RESOURCES",
    "SlurmLimits",
    "enforces_limits",
    "is_limit_table",
    "limits_from_tables",
]

#: Arguments of ``sacctmgr -P show`` for each table, by the name of its file. Of the limits that are not read, remarks
#: say where they are set.
LIMIT_TABLES = {
    "qos.txt": ("qos", "format=Name,Priority,GrpJobs,GrpTRES,MaxJobsPU,MaxTRESPU,MaxJobsPA,MaxTRESPA,GrpTRESRunMins"),
    "associations.txt": (
        "assoc",
        "format=Cluster,Account,User,Partition,ParentName,GrpJobs,GrpTRES,MaxJobs,GrpTRESRunMins",
    ),
}
#: Slurm's names of the amounts of a quota.
RESOURCES = {"nodes": "node", "cores": "cpu", "memory": "mem", "gpus": "gres/gpu"}
_QOS_COLUMNS = ("GrpJobs", "GrpTRES", "MaxJobsPU", "MaxTRESPU")
_ASSOCIATION_COLUMNS = ("GrpJobs", "GrpTRES", "MaxJobs")
#: Columns with further limits on running jobs.
_FURTHER = ("MaxJobsPA", "MaxTRESPA", "GrpTRESRunMins", "GrpWall", "GrpTRESMins")


@dataclass(frozen=True)
class SlurmLimits:
    """Limits of a Slurm.

    Attributes
    ----------
    limits
        Limits of QOS, accounts and users.
    remarks
        Sentences about limits that are left out.
    """

    limits: tuple[Limit, ...] = ()
    remarks: tuple[str, ...] = ()


def enforces_limits(configuration: str) -> bool:
    """Whether Slurm enforces limits, by its ``AccountingStorageEnforce``; by default it does not.

    >>> enforces_limits("AccountingStorageEnforce = associations,limits,qos"), enforces_limits("ClusterName=lab")
    (True, False)
    """
    match = re.search(r"(?im)^\s*AccountingStorageEnforce\s*=\s*(\S*)", configuration)
    # "safe" and "all" include limits.
    return bool(match) and bool({"limits", "safe", "all"} & set(match[1].lower().split(",")))  # type: ignore[index]


def is_limit_table(text: str) -> bool:
    """Whether a text is a table of QOS or associations with limits.

    >>> is_limit_table("Name|Priority|GrpJobs"), is_limit_table("JobID|Account|User|QOS")
    (True, False)
    """
    head = {name.strip() for name in text.partition("\n")[0].split("|")}
    return bool(head & {*_QOS_COLUMNS, *_ASSOCIATION_COLUMNS}) and ("Name" in head or {"Account", "User"} <= head)


def limits_from_tables(texts: Mapping[str | Path, str]) -> SlurmLimits:
    """The limits in tables of QOS and associations.

    Parameters
    ----------
    texts
        Tables by the path of their file.

    Raises
    ------
    TraceError
        If a limit is no number, or associations are those of several clusters.
    """
    limits: list[Limit] = []
    remarks: list[str] = []
    for path, text in texts.items():
        head = text.partition("\n")[0]
        if "Name" in [name.strip() for name in head.split("|")]:
            limits += _limits_of_qos(path, table_rows(path, text, ("Name",)), remarks)
        else:
            rows = table_rows(path, text, ("Account", "User"))
            clusters = sorted({row.get("Cluster", "") for row in rows})
            if len(clusters) > 1:
                raise TraceError(path, None, f"has several clusters ({', '.join(clusters)[:80]})", "add cluster=NAME")
            limits += _limits_of_associations(_read_associations(path, rows, remarks), remarks)
    return SlurmLimits(tuple(limits), tuple(remarks))


def _limits_of_qos(path: str | Path, rows: Iterable[Mapping[str, str]], remarks: list[str]) -> Iterator[Limit]:
    for row in rows:
        name = row["Name"].strip()
        remarks += _omissions(row, f"QOS {name}")
        together = _quota(path, row, "GrpTRES", "GrpJobs")
        per_user = _quota(path, row, "MaxTRESPU", "MaxJobsPU")
        if together.amounts() or per_user.amounts():
            yield Limit("qos", name, per_user, together)


class _Associations(NamedTuple):
    """Limits of accounts and of their users.

    Attributes
    ----------
    accounts
        Limit of all jobs of each account together.
    users
        By account, the limits of each of its users there.
    parents
        Accounts with accounts below them.
    """

    accounts: dict[str, Quota]
    users: dict[str, dict[str, Quota]]
    parents: set[str]


def _read_associations(path: str | Path, rows: Iterable[Mapping[str, str]], remarks: list[str]) -> _Associations:
    found = _Associations({}, {}, set())
    for row in rows:
        account, user = row["Account"].strip(), row["User"].strip()
        owner = f"account {account}" if not user else f"user {user} in account {account}"
        remarks += _omissions(row, owner)
        if row.get("Partition", "").strip():
            if any(row.get(column, "").strip() for column in _ASSOCIATION_COLUMNS):
                remarks.append(f"limits of {owner} in partition {row['Partition']} are left out")
        elif user:
            # Slurm prints the MaxJobs that a user inherits from the account as the user's.
            found.users.setdefault(account, {})[user] = _quota(path, row, "GrpTRES", "GrpJobs", "MaxJobs")
        else:
            found.accounts[account] = _quota(path, row, "GrpTRES", "GrpJobs")
            found.parents.add(row.get("ParentName", "").strip())
    return found


def _limits_of_associations(found: _Associations, remarks: list[str]) -> Iterator[Limit]:
    """Limits of accounts, of each user of an account, and of users that have one account."""
    accounts_of = Counter(user for users in found.users.values() for user in users)
    for account in dict.fromkeys([*found.accounts, *found.users]):
        quotas = found.users.get(account, {})
        loosest = _loosest(list(quotas.values()))
        all_jobs = found.accounts.get(account, Quota())
        if account in found.parents and all_jobs.amounts():
            remarks.append(f"the limit of account {account} counts its own jobs alone, not those of accounts below it")
        if all_jobs.amounts() or loosest.amounts():
            yield Limit("account", account, loosest, all_jobs)
        for user, quota in quotas.items():
            if quota == loosest:
                continue
            if accounts_of[user] > 1:
                remarks.append(f"limits of user {user} in account {account} are left out: it has several accounts")
            else:
                yield Limit("user", user, together=quota)


def _loosest(quotas: list[Quota]) -> Quota:
    """What all of some quotas allow at most."""
    every = [quota.amounts() for quota in quotas]
    common = set.intersection(*map(set, every)) if every else set[str]()
    return Quota(**{name: max(amounts[name] for amounts in every) for name in common})


def _quota(path: str | Path, row: Mapping[str, str], resources: str, *jobs: str) -> Quota:
    """The limits in a column of resources and in columns of numbers of jobs."""
    amounts = parse_amounts(path, row.get(resources) or "")
    counts = [count for column in jobs if (count := _count(path, row.get(column) or "")) is not None]
    found = {name: amounts.get(resource) for name, resource in RESOURCES.items()}
    return Quota(running=min(counts, default=None), **found)


def _omissions(row: Mapping[str, str], owner: str) -> Iterator[str]:
    """Remarks about limits of a row that are not read."""
    for column in _FURTHER:
        if (row.get(column) or "").strip():
            yield f"{column} of {owner} is left out"
    for column in ("GrpTRES", "MaxTRESPU"):
        for word in (row.get(column) or "").split(","):
            name = word.partition("=")[0].strip()
            if name and name not in RESOURCES.values():
                yield f"{column} {name} of {owner} is left out"


def _count(path: str | Path, cell: str) -> int | None:
    """A number of jobs; None: no limit."""
    cell = cell.strip()
    if not cell:
        return None
    if not re.fullmatch(r"\d{1,12}", cell):
        raise TraceError(path, None, f"limits must be whole numbers, not {cell[:40]}")
    return int(cell)

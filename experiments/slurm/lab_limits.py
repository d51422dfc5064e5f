"""Limits of a machine in the database of a lab."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from holdfast.experiments.slurm.lab_machine import partition_qos
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.machine import Limit, Quota
from holdfast.workloads.machines.slurm_limits import LIMIT_TABLES, RESOURCES
from holdfast.workloads.machines.slurm_tables import table_rows

__all__ = ["LimitedSlurm", "add_partition_limits", "limit_commands", "set_limits"]

_NO_LIMITS = Quota(), Quota()


class LimitedSlurm(Protocol):
    """A lab."""

    @property
    def accounting(self) -> bool: ...
    def call(self, words: Sequence[str]) -> str:
        """What a command prints."""


def add_partition_limits(lab: LimitedSlurm, limits: Iterable[Limit]) -> None:
    """Add a QOS for each limited partition to the database of a lab: its controller does not start without."""
    for limit in limits:
        if limit.scope == "partition":
            lab.call(["sacctmgr", "-n", "-i", "add", "qos", partition_qos(limit.name)])


def set_limits(lab: LimitedSlurm, limits: Sequence[Limit], members: Iterable[tuple[str, str]] = ()) -> None:
    """Give the partitions, QOS, accounts and users in the database of a lab the limits of a machine, and no others.

    Parameters
    ----------
    lab
        The lab, with all QOS, accounts and users of the jobs, and started with the limits of partitions.
    limits
        The limits.
    members
        Account and user of each job.

    Raises
    ------
    InputError
        If the lab has no database, its partitions have no limits, or Slurm has no such limit.
    """
    if not lab.accounting:
        raise InputError("the machine has limits, which need a database: start the lab with --accounting")
    accounts: dict[str, set[str]] = {}
    for account, user in members:
        accounts.setdefault(user, set()).add(account)
    for limit in limits:
        if limit.scope == "user" and len(accounts.get(limit.name, ())) > 1:
            raise InputError(f"Slurm limits a user in one account, and the jobs of {limit.name} have several")
    shown = {name: lab.call(["sacctmgr", "-P", "show", *words]) for name, words in LIMIT_TABLES.items()}
    known = {row["Name"] for row in table_rows("qos.txt", shown["qos.txt"], ("Name",))}
    for limit in limits:
        if limit.scope == "partition" and partition_qos(limit.name) not in known:
            raise InputError(f"the lab was started without the limits of partition {limit.name}: start it with them")
    for words in limit_commands(limits, shown):
        lab.call(["sacctmgr", "-n", "-i", "modify", *words])


def limit_commands(limits: Sequence[Limit], shown: Mapping[str, str]) -> list[list[str]]:
    """Arguments of ``sacctmgr modify`` that give QOS, accounts and users their limits, and take others away.

    Those of a partition are given to its QOS.

    Parameters
    ----------
    limits
        The limits.
    shown
        The tables :data:`holdfast.workloads.machines.slurm_limits.LIMIT_TABLES` of the database.
    """
    quotas = {_owner(limit): (limit.per_user, limit.together) for limit in limits}
    commands = []
    for row in table_rows("qos.txt", shown["qos.txt"], ("Name",)):
        per_user, together = quotas.get(("qos", row["Name"]), _NO_LIMITS)
        settings = _settings(row, GrpJobs=together, GrpTRES=together, MaxJobsPU=per_user, MaxTRESPU=per_user)
        commands.append(["qos", row["Name"], "set", *settings] if settings else [])
    for row in table_rows("associations.txt", shown["associations.txt"], ("Account", "User")):
        account, user = row["Account"], row["User"]
        per_user, together = quotas.get(("account", account), _NO_LIMITS)
        if user:
            # Slurm's limits of an account for each user stand at each of its users.
            own = _tightest([per_user, *quotas.get(("user", user), _NO_LIMITS)])
            settings = _settings(row, MaxJobs=own, GrpTRES=own)
            commands.append(["user", user, "where", f"account={account}", "set", *settings] if settings else [])
        else:
            settings = _settings(row, GrpJobs=together, GrpTRES=together)
            commands.append(["account", account, "set", *settings] if settings else [])
    return [words for words in commands if words]


def _owner(limit: Limit) -> tuple[str, str]:
    """Scope and name of a limit in the database, where names of QOS and accounts are in lower case."""
    if limit.scope == "partition":
        return "qos", partition_qos(limit.name)
    return limit.scope, limit.name if limit.scope == "user" else limit.name.lower()


def _settings(row: Mapping[str, str], **quotas: Quota) -> list[str]:
    """Settings of the columns of a row; -1 takes a limit away. None if there is no limit before and after."""
    if not any(row.get(column) or quota.amounts() for column, quota in quotas.items()):
        return []
    found = []
    for column, quota in quotas.items():
        amounts = quota.amounts()
        each = ",".join(f"{word}={amounts.get(name, -1)}" for name, word in RESOURCES.items())
        found.append(f"{column}={amounts.get('running', -1) if 'Jobs' in column else each}")
    return found


def _tightest(quotas: Sequence[Quota]) -> Quota:
    """The smallest of several limits of each amount."""
    found: dict[str, int] = {}
    for quota in quotas:
        for name, amount in quota.amounts().items():
            found[name] = min(amount, found.get(name, amount))
    return Quota(**found)

"""The accounts of limits that count for each job, as columns of whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from holdfast.workloads.machines.machine import Limit

__all__ = ["LimitColumns", "Owner"]

#: Amounts of an account.
_AMOUNTS = ("running", "nodes", "cores", "memory", "gpus")
#: Scopes in the order of Slurm's precedence.
_PRECEDENCE = ("partition", "qos", "account", "user")


class Owner(NamedTuple):
    """QOS, account, user and partition of a job, in the order in which limits are checked; empty: unknown."""

    qos: str
    account: str
    user: str
    partition: str


class LimitColumns:
    """Accounts of limits: for all jobs of a scope, or for those of one user in it.

    Parameters
    ----------
    limits
        The limits.
    owners
        The owner of each option, which is a job in one of its partitions.
    as_slurm
        Whether a limit of a partition or QOS replaces others of the same kind, as in Slurm: that of a partition those
        of a QOS, and both those of accounts and users; a node that several jobs of an account share counts once, and
        an exclusive job has the memory that it asks for. Source: slurm.schedmd.com, resource_limits; sbatch(1),
        ``--exclusive``; ``_get_unique_job_node_cnt`` of acct_policy.c.

    Attributes
    ----------
    limits, most
        The limit of each account, and its amounts; -1: no limit.
    usages
        For each account the number of what it counts; with ``as_slurm`` several accounts may count the same jobs.
    accounts, first
        The accounts of an option, in the order QOS, account, user, partition, begin in ``accounts`` at ``first``.
    """

    def __init__(self, limits: Sequence[Limit], owners: Iterable[Owner], *, as_slurm: bool = False) -> None:
        self._by_scope = {(limit.scope, limit.name): limit for limit in limits}
        self.as_slurm = as_slurm
        self.limits: list[Limit] = []
        self.most: list[int] = []
        self.usages: list[int] = []
        self.accounts: list[int] = []
        self.first = [0]
        usages: dict[tuple[str, str, str | None], int] = {}
        numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        for owner in owners:
            for limit, user, most in self.quotas(owner):
                usage = usages.setdefault((limit.scope, limit.name, user), len(usages))
                if (usage, most) not in numbers:
                    numbers[usage, most] = len(self.limits)
                    self.limits.append(limit)
                    self.most += most
                    self.usages.append(usage)
                self.accounts.append(numbers[usage, most])
            self.first.append(len(self.accounts))

    def of(self, option: int) -> Sequence[int]:
        """The accounts of an option."""
        return self.accounts[self.first[option] : self.first[option + 1]]

    def quotas(self, owner: Owner) -> Iterator[tuple[Limit, str | None, tuple[int, ...]]]:
        """The limits of an owner: the user that each is for (None: all), and its amounts as in ``most``.

        One whose amounts others replace counts the job all the same, since it may stop other jobs.
        """
        if not self._by_scope:
            return
        replaced = self._replacements(owner) if self.as_slurm else set[tuple[str, bool, str]]()
        for scope, name in owner._asdict().items():
            limit = self._by_scope.get((scope, name))
            if limit is None:
                continue
            for quota, user in ((limit.per_user, owner.user), (limit.together, None)):
                amounts = quota.amounts()
                if set(amounts) & set(_AMOUNTS):
                    kept = {each for each in amounts if (scope, user is not None, each) not in replaced}
                    yield limit, user, tuple(amounts[each] if each in kept else -1 for each in _AMOUNTS)

    def _replacements(self, owner: Owner) -> set[tuple[str, bool, str]]:
        """Scope, whether per user, and amount of the limits of an owner that others replace in Slurm."""
        known, replaced = set[tuple[bool, str]](), set[tuple[str, bool, str]]()
        for scope in _PRECEDENCE:
            limit = self._by_scope.get((scope, getattr(owner, scope)))
            if limit is None:
                continue
            association = scope in ("account", "user")
            own = set()
            for per_user, quota in ((True, limit.per_user), (False, limit.together)):
                for amount in quota.amounts():
                    # Slurm limits the running jobs of a user in an account by MaxJobs, as a QOS by MaxJobsPerUser, and
                    # resources by GrpTRES, as a QOS those of all its jobs.
                    kind = (per_user or scope == "user") and amount == "running" if association else per_user
                    if (kind, amount) in known:
                        replaced.add((scope, per_user, amount))
                    own.add((kind, amount))
            if not association:
                known |= own
        return replaced

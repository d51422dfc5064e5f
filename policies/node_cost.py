"""The cheapest set of jobs on a node that frees what an arriving job lacks there.

Source: rule 7 for shared nodes, docs/reference/machines.md. Up to :data:`EXACT` candidates, all sets are compared;
beyond that, jobs are added in ascending overhead per freed share.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

__all__ = ["EXACT", "Candidate", "VictimSet", "cheapest_victims"]

#: The largest number of candidates for which all sets are compared.
EXACT = 12


class Candidate(NamedTuple):
    """A job that could be preempted.

    Attributes
    ----------
    overhead
        What its preemption would lose.
    job_id
        Its id.
    amounts
        What it would free on the node, by resource.
    """

    overhead: int
    job_id: int
    amounts: tuple[int, ...]


class VictimSet(NamedTuple):
    """Jobs to preempt: their total overhead, and their ids in ascending order; the smaller set is the better one."""

    overhead: int
    job_ids: tuple[int, ...]


def cheapest_victims(candidates: Sequence[Candidate], lacking: Sequence[int]) -> VictimSet | None:
    """The cheapest set of jobs that frees what is lacking.

    Parameters
    ----------
    candidates
        Jobs on the node.
    lacking
        Amount that is lacking of each resource; 0 or less: nothing is.

    Returns
    -------
    VictimSet or None
        None if all candidates together do not suffice. Of equally cheap sets, the one with the smaller ids.

    Examples
    --------
    >>> jobs = [Candidate(5, 1, (2, 0)), Candidate(4, 2, (1, 0)), Candidate(2, 3, (1, 1))]
    >>> cheapest_victims(jobs, (2, 0))
    VictimSet(overhead=5, job_ids=(1,))
    >>> cheapest_victims(jobs, (2, 1))
    VictimSet(overhead=6, job_ids=(2, 3))
    """
    wanted = [(kind, amount) for kind, amount in enumerate(lacking) if amount > 0]
    if not wanted:
        return VictimSet(0, ())
    if not _suffices(candidates, wanted):
        return None
    if len(candidates) > EXACT:
        return _total(_greedy_choice(candidates, wanted))
    return min(
        _total(chosen)
        for count in range(1, len(candidates) + 1)
        for chosen in combinations(candidates, count)
        if _suffices(chosen, wanted)
    )


def _suffices(chosen: Sequence[Candidate], wanted: Sequence[tuple[int, int]]) -> bool:
    return all(sum(item.amounts[kind] for item in chosen) >= amount for kind, amount in wanted)


def _total(chosen: Sequence[Candidate]) -> VictimSet:
    return VictimSet(sum(item.overhead for item in chosen), tuple(sorted(item.job_id for item in chosen)))


def _greedy_choice(candidates: Sequence[Candidate], wanted: Sequence[tuple[int, int]]) -> list[Candidate]:
    """Jobs in ascending overhead per freed share until they suffice, without those that turn out unnecessary."""
    chosen: list[Candidate] = []
    left = list(candidates)
    while not _suffices(chosen, wanted):
        still = [(kind, amount - sum(item.amounts[kind] for item in chosen)) for kind, amount in wanted]
        rates = []
        for item in left:
            # The sum of the shares of each resource that is still lacking.
            share = sum(
                (Fraction(min(item.amounts[kind], more), more) for kind, more in still if more > 0), Fraction(0)
            )
            if share:
                rates.append((item.overhead / share, item.job_id, item))
        best = min(rates)[-1]
        chosen.append(best)
        left.remove(best)
    for item in sorted(chosen, key=lambda item: (-item.overhead, item.job_id)):
        rest = [other for other in chosen if other is not item]
        if _suffices(rest, wanted):
            chosen = rest
    return chosen

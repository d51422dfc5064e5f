"""Slurm's priorities: Fair Tree and factors worked out by hand from the pages that describe them."""

from __future__ import annotations

import pytest

from holdfast.policies.orders.slurm_priority import (
    Association,
    Factors,
    Weights,
    age_factor,
    fair_tree,
    last_calculation,
    size_factor,
)


def account(name: str, shares: float | None, usage: float, parent: str = "root") -> Association:
    return Association(name, parent, False, shares, usage)


def user(name: str, parent: str, usage: float, shares: float | None = 1) -> Association:
    return Association(name, parent, True, shares, usage)


def test_users_of_a_better_account_are_before_all_of_a_worse_one() -> None:
    # physics: (3/4) / (40/100) = 1.9; chem: (1/4) / (60/100) = 0.4. In physics ben has used less than ann.
    tree = [
        account("root", 1, 100, ""),
        account("physics", 3, 40),
        account("chem", 1, 60),
        user("ann", "physics", 30),
        user("ben", "physics", 10),
        user("eva", "chem", 0),
        user("tom", "chem", 60),
    ]
    assert fair_tree(tree) == {"ben": 1.0, "ann": 0.75, "eva": 0.5, "tom": 0.25}


def test_equal_siblings_share_a_rank() -> None:
    # Nothing was used: both accounts are equal, so that their users are ranked together, and all are equal.
    tree = [account("a", 1, 0), account("b", 1, 0), user("ann", "a", 0), user("ben", "b", 0), user("eva", "b", 0)]
    tree = [account("root", 1, 0, ""), *tree]
    assert fair_tree(tree) == {"ann": 1.0, "ben": 1.0, "eva": 1.0}
    # After eva has run, b is behind, and eva behind ben.
    used = [account("root", 1, 5, ""), account("a", 1, 0), account("b", 1, 5), *tree[3:5], user("eva", "b", 5)]
    assert fair_tree(used) == {"ann": 1.0, "ben": 2 / 3, "eva": 1 / 3}


def test_shares_of_none_and_of_the_parent() -> None:
    tree = [
        account("root", 1, 10, ""),
        user("first", "root", 5, None),
        user("second", "root", 5),
        user("last", "root", 0, 0),
    ]
    assert fair_tree(tree) == {"first": 1.0, "second": 2 / 3, "last": 1 / 3}


def test_the_priority_is_the_truncated_sum() -> None:
    weights = Weights(age=1000, fairshare=10_000, size=7000, partition=100, qos=50)
    # 8 of 16 nodes, and a last plan with 9 of 16 CPUs: (0.5 + 0.5625) / 2.
    factors = Factors(age_factor(4600, 1000, 7200), 0, 0.25, size_factor(8, 9, 16, 16, small=False), 1, 0.5, 3)
    # 500 + 2500 + 3718.75 + 100 + 25 - 3
    assert weights.priority(factors) == 6840
    assert weights.priority(Factors(nice=10_000)) == 1
    assert size_factor(8, 8, 16, 16, small=True) == 0.5
    assert size_factor(4, 0, 16, 16, small=True) == 0.75


@pytest.mark.parametrize(("now", "since", "age"), [(100, 100, 0), (90, 100, 0), (150, 100, 0.5), (900, 100, 1)])
def test_age(now: float, since: float, age: float) -> None:
    assert age_factor(now, since, 100) == age


def test_priorities_are_calculated_at_intervals() -> None:
    assert last_calculation(1000, 100, 300) == 1000
    assert last_calculation(999, 100, 300) == 700
    assert last_calculation(999, 100, 0) == 999
    assert last_calculation(50, 100, 300) == 50

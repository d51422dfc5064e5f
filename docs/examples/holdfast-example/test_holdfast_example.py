"""The plug-ins keep the contract."""

from holdfast_example import AgedShortest, YoungestFirst, halving, narrow

from holdfast.simulator.conformance import check_policy


def test_contract() -> None:
    check_policy(AgedShortest, "order", raises=True)
    check_policy(narrow, "backfilling", raises=True)
    check_policy(YoungestFirst, "arrival", raises=True)
    check_policy(halving, "strategy", raises=True)

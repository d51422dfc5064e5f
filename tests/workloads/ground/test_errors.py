"""Errors say the same wherever they are raised."""

from __future__ import annotations

import pickle

import pytest

from holdfast.experiments.sweeps.execution import spread
from holdfast.workloads.ground.errors import (
    HoldfastError,
    InputError,
    InvariantError,
    OutputError,
    ParameterError,
    TraceError,
    UnknownNameError,
)

ERRORS = [
    HoldfastError("a worker died"),
    InputError("a.swf: is empty"),
    ParameterError("jobs", "1 or more", 0),
    UnknownNameError("mechanism", "CUA-SPA", ["CUA-SPAA", "N-PAA"]),
    TraceError("a.swf", 7, "18 fields", "see the format"),
    OutputError("cannot write"),
    InvariantError("nodes were lost"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_in_another_process(error: HoldfastError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def refuse(name: str) -> None:
    raise UnknownNameError("usual distribution", name, ["norm"])


@pytest.mark.system
def test_a_worker_refuses_as_the_calling_process_does() -> None:
    # One name alone: of two workers, either may be the first to refuse.
    for workers in (1, 2):
        with pytest.raises(UnknownNameError, match="unknown usual distribution 'foo': known are norm"):
            list(spread(refuse, ["foo", "foo"], workers))

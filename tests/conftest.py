"""Settings of all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import Phase, settings

from holdfast.policies import reservation_depth, shadow_time
from holdfast.policies.kernels import compiled_or_plain
from holdfast.policies.port import SystemView
from tests.support.sketching import KINDS, sketches

#: A test that asks for more examples than this draws a share of what it asks for, but in the profile "thorough".
_DEFAULT, _SHARE = 10, 0.1

# Time limits for single examples would make tests fail on a busy machine. The same examples are tried every time, so
# that a failure belongs to the change at hand; "thorough" (make slow) draws new ones, and finds what they miss.
settings.register_profile("same", deadline=None, max_examples=_DEFAULT, derandomize=True)
settings.register_profile("thorough", deadline=None)
# For mutants (tests/mutation.py), which are killed by any example.
settings.register_profile("first", settings.get_profile("same"), phases=[Phase.explicit, Phase.generate])
settings.load_profile("same")

# What is tested is what other processes see. What a power cut would leave is not, and takes ten milliseconds a file.
os.fsync = lambda descriptor: None

# A shell starts programs in the background with SIGINT ignored, and they hand that on: tests that send it would wait
# for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What is imported and collected stays until the end. Without these passes over it, collection takes 8 instead of 11 s
# of each process, and the tests of the simulator 86 instead of 114 s.
gc.disable()


def pytest_collection_finish() -> None:
    """Leave out of garbage collection what exists before the first test."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def no_node_is_promised_twice() -> Iterator[None]:
    """In every simulation: the free nodes and all releases that a pass plans with are no more than the machine has."""
    arriving = shadow_time.available_releases

    def check_releases(
        view: SystemView, releases: Sequence[tuple[int, int, int]], *, collecting: bool
    ) -> Sequence[tuple[int, int, int]]:
        seen = arriving(view, releases, collecting=collecting)
        # Jobs that this pass has started give back what was free when it began.
        started = sum(nodes for _, _, nodes in releases) - sum(nodes for _, _, nodes in view.releases)
        promised = view.free - started + sum(nodes for _, _, nodes in seen)
        assert promised <= view.nodes, f"{promised} of {view.nodes} nodes are promised"
        return seen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shadow_time, "available_releases", check_releases)
        patch.setattr(reservation_depth, "available_releases", check_releases)
        yield


@pytest.fixture(scope="module", autouse=True)
def no_loop_is_compiled_for_the_work_of_other_modules() -> None:
    """The loop of replays on machines takes 30 s to compile, and all tests together do enough steps to begin it."""
    compiled_or_plain._steps.clear()


@pytest.fixture(scope="module", autouse=True)
def no_picture_is_rendered(request: pytest.FixtureRequest) -> Iterator[None]:
    """Outside of the modules that are about pictures, and there only in the files that they look at."""
    wanted = request.node.get_closest_marker("pictures")
    with sketches(KINDS if wanted is None else tuple(kind for kind in KINDS if kind not in wanted.args)):
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    default = settings()
    if default.max_examples > _DEFAULT:
        return
    tests = {getattr(test, "__func__", test) for item in items if (test := getattr(item, "obj", None)) is not None}
    for test in tests:
        asked = getattr(test, "_hypothesis_internal_use_settings", default)
        if asked.max_examples > _DEFAULT:
            count = max(_DEFAULT, round(_SHARE * asked.max_examples))
            test._hypothesis_internal_use_settings = settings(asked, max_examples=count)

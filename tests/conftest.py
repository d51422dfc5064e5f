"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import settings

from policies import reserving, shadow
from policies.port import SystemView
from tests.sketching import sketches

# Time limits for single examples would make tests fail on a busy machine. Where a change is judged (CI) the same
# examples are tried every time; elsewhere new ones, so that somebody finds what they missed.
settings.register_profile("explore", deadline=None)
settings.register_profile("judge", deadline=None, derandomize=True)
settings.load_profile("judge" if os.environ.get("CI") else "explore")

# What is tested is what other processes see. What a power cut would leave is not, and takes ten milliseconds a file.
os.fsync = lambda descriptor: None


@pytest.fixture(scope="session", autouse=True)
def no_node_is_promised_twice() -> Iterator[None]:
    """In every simulation: the free nodes and all releases that a pass plans with are no more than the machine has."""
    arriving = shadow.arriving

    def checked(
        view: SystemView, releases: Sequence[tuple[int, int, int]], *, collecting: bool
    ) -> Sequence[tuple[int, int, int]]:
        seen = arriving(view, releases, collecting=collecting)
        # Jobs that this pass has started give back what was free when it began.
        started = sum(nodes for _, _, nodes in releases) - sum(nodes for _, _, nodes in view.releases)
        promised = view.free - started + sum(nodes for _, _, nodes in seen)
        assert promised <= view.nodes, f"{promised} of {view.nodes} nodes are promised"
        return seen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shadow, "arriving", checked)
        patch.setattr(reserving, "arriving", checked)
        yield


@pytest.fixture(scope="module", autouse=True)
def no_picture_is_rendered(request: pytest.FixtureRequest) -> Iterator[None]:
    """Outside of the modules that are about pictures."""
    if request.node.get_closest_marker("pictures"):
        yield
    else:
        with sketches():
            yield

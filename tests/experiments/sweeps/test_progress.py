"""Progress over a few long simulations."""

from __future__ import annotations

import io
import re
import sys

import pytest

from holdfast.experiments.sweeps.progress import CountBar
from tests.support.processes import until


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_shown_while_the_first_simulation_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with CountBar(0.001) as bar:
        bar.advance(0, 3)
        until(lambda: "0/3 simulations" in shown.getvalue())
        bar.advance(2, 3)
        until(lambda: "2/3 simulations" in shown.getvalue())
        bar.advance(3, 3)
        until(lambda: "comparing: 100%" in shown.getvalue())
    # The time is that since the first call: no test takes an hour.
    assert set(re.findall(r"simulations \[(\S*):\d\d\]", shown.getvalue())) <= {f"{minute:02}" for minute in range(60)}
    assert re.search(r"simulations \[\d\d:\d\d\]", shown.getvalue())
    assert shown.getvalue().endswith("\r")  # it is wiped out


def test_nothing_is_shown_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with CountBar(0.0) as bar:
        bar.advance(0, 2)
        bar.advance(2, 2)
    assert shown.getvalue() == ""

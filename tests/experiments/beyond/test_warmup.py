"""The transient of an empty machine: series by day, where MSER cuts them, and what is said of a warm-up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.experiments.beyond.transients import daily, mser, smooth
from holdfast.experiments.beyond.warmup import METRICS, Warmup
from holdfast.experiments.study.experiment import find_experiment
from holdfast.experiments.study.rules import Outcome
from holdfast.experiments.study.verdicts import Verdict
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import ParameterError
from tests.support.jobs import rigid

DAY = 86_400.0
#: Days of the made-up replays.
DAYS = 200


def test_the_series_of_a_replay_by_hand() -> None:
    jobs = [
        rigid(1, 0.0, 4, 1.5 * DAY),
        rigid(2, 0.25 * DAY, 4, 0.5 * DAY),  # waits for 1.25 days
        rigid(3, 1.0 * DAY, 2, 0.25 * DAY, 0.25 * DAY),  # waits until 2.0
        rigid(4, 3.0 * DAY, 1, 0.1 * DAY),
    ]
    result = simulate(jobs, 4, events=False)
    found = daily(result.records, 4)
    assert found["wait"] == pytest.approx([24 * 1.25 / 2, 24 * 1.0, np.nan], nan_ok=True)
    assert found["utilisation"] == pytest.approx([100.0, 100.0, 100 * 2 * 0.25 / 4])
    assert found["queue"] == pytest.approx([0.75, 0.5 + 1.0, 0.0])


def test_mser_cuts_where_the_rest_is_known_best() -> None:
    rng = np.random.default_rng(0)
    flat = 10 + rng.normal(size=300)
    ramp = flat.copy()
    ramp[:40] -= 8 * np.exp(-np.arange(40) / 10)
    assert mser(flat) <= 15
    assert 15 <= mser(ramp) <= 60
    # By its definition, in one line.
    errors = [ramp[cut:].var() / (300 - cut) for cut in range(151)]
    assert mser(ramp) == int(np.argmin(errors))
    gaps = ramp.copy()
    gaps[5::7] = np.nan
    assert 10 <= mser(gaps) <= 60
    assert mser(np.array([])) == mser(np.array([1.0])) == mser(np.full(8, np.nan)) == 0


def test_welchs_curve_keeps_its_ends_and_its_mean() -> None:
    line = np.arange(30.0)
    assert smooth(line, 5) == pytest.approx(line)
    assert smooth(np.array([0.0, np.nan, 4.0, 4.0, 4.0]), 1) == pytest.approx([0.0, 2.0, 4.0, 4.0, 4.0])


def _tables(moved: float, late: int) -> dict[str, list[dict[str, Any]]]:
    """Replays of which 14 days change every average by a share, and whose transient ends on a day."""
    cuts, truncation, curves = [], [], []
    for dataset, traces in (("generated", range(3)), ("theta", range(1))):
        for trace in traces:
            for mechanism in ("baseline", "CUA-SPAA") if dataset == "generated" else ("baseline",):
                for cut in (0.0, 14.0):
                    level = (1 + 0.01 * trace) * (1 + moved * (cut > 0)) * (1 + 0.1 * (mechanism != "baseline"))
                    own = {"dataset": dataset, "trace": trace, "mechanism": mechanism, "cut_days": cut}
                    cuts.append({**own, **dict.fromkeys(METRICS, 0.5 * level)})
            for series in ("wait", "utilisation", "queue"):
                own = {"dataset": dataset, "series": series, "trace": trace, "days": DAYS}
                truncation.append({**own, "truncation_days": late + trace - 1})
        for series in ("wait", "utilisation", "queue"):
            curves += [{"dataset": dataset, "series": series, "day": day, "mean": float(day >= late), "level": 1.0}
                       for day in range(60)]  # fmt: skip
    return {"": cuts, "truncation": truncation, "curves": curves}


def _verdicts(moved: float, late: int) -> dict[str, Verdict]:
    return {item.claim: item for item in find_experiment("beyond-warmup").judge(_tables(moved, late))}


def test_a_short_transient_that_changes_nothing_needs_no_warmup() -> None:
    verdicts = _verdicts(0.001, 5)
    assert {item.outcome for item in verdicts.values()} == {Outcome.HOLDS}
    assert len(verdicts) == 3 + 3 + 2 * len(METRICS) + len(METRICS) + 1
    welch = verdicts["In generated years Welch's curve of the queue reaches its later level within 14 days"]
    assert (welch.measured, welch.remark) == ("day 5", "logs, one replay each: Theta 2022 day 5")


def test_a_long_transient_that_moves_the_averages_is_reported() -> None:
    verdicts = _verdicts(0.2, 40)
    # What both sides of a difference lose alike is not in it.
    averages = {claim: item.outcome for claim, item in verdicts.items() if "has over the baseline" not in claim}
    assert set(averages.values()) == {Outcome.FAILS}
    assert verdicts["It leaves what CUA-SPAA has over the baseline in mean wait as it is"].outcome is Outcome.HOLDS
    own = verdicts["A warm-up of 14 days leaves the mean wait under baseline as it is"]
    assert own.remark.startswith("0.51 h without")
    assert "0.50 to 0.60 h" in verdicts["It leaves the averages of Theta 2022 as they are"].measured


def test_logs_too_short_for_the_cut_are_not_compared() -> None:
    tables = _tables(0.0, 5)
    tables[""] = [row for row in tables[""] if row["dataset"] == "generated" or row["cut_days"] == 0]
    last = find_experiment("beyond-warmup").judge(tables)[-1]
    assert (last.outcome, last.remark) == (Outcome.NOT_COMPARABLE, "no replays of more than 28 days")


def test_the_cuts_of_the_question_are_always_made() -> None:
    assert Warmup(cuts=(7.0,)).days == (0.0, 7.0, 14.0)
    with pytest.raises(ParameterError, match="traces"):
        Warmup(traces=1)

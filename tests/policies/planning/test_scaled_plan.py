"""Plans carried over to another machine, and figures 17 and 18 of the profiles paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.experiments.papers.profiles.machines import Scaling, Slowdowns, measure_scaling, slow_runs
from holdfast.experiments.papers.profiles.transfer import _raise_memory
from holdfast.experiments.study.experiment import find_experiment, run_experiment
from holdfast.experiments.study.verdicts import Outcome
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.memory_execution import execute
from holdfast.policies.planning.memory_plan import mem_all_ckpt_v2
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.scaled_plan import transfer_plan
from holdfast.workloads.chains.checkpoint_device import CheckpointDevice
from holdfast.workloads.chains.runs import TaskRuns
from holdfast.workloads.chains.synthetic import slant_like
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from tests.shared_data import shared_file

RUNS = slant_like(25, np.random.default_rng(4))
PLAN = mem_all_ckpt_v2(RUNS, CostModel(), n=200, grid="equal-time")


def test_every_reservation_is_longer_by_its_factor() -> None:
    moved = transfer_plan(PLAN, 1.7, 1.1)
    assert len(PLAN) > 3
    assert moved.length[0] == pytest.approx(1.1 * PLAN.length[0])
    assert moved.length[1:] == pytest.approx(1.7 * PLAN.length[1:])
    assert moved.work == pytest.approx(PLAN.work * [1.1, *[1.7] * (len(PLAN) - 1)])
    assert moved.memory is not None
    assert moved.memory.tolist() == np.asarray(PLAN.memory).tolist()
    assert transfer_plan(PLAN, 1.0).length == pytest.approx(PLAN.length)


def test_overheads_may_stay_as_they_are() -> None:
    moved = transfer_plan(PLAN, 1.7, 1.1, overheads=False)
    assert moved.checkpoint == pytest.approx(PLAN.checkpoint)
    assert moved.restart == pytest.approx(PLAN.restart)
    assert moved.work == pytest.approx(transfer_plan(PLAN, 1.7, 1.1).work)


def test_a_transferred_plan_goes_on_beyond_its_end() -> None:
    steps = ReservationPlan(
        [10.0, 30.0], [True, True], CostModel(checkpoint=lambda t: 0.1 * t, restart=lambda t: 0.2 * t)
    )
    moved = transfer_plan(steps, 2.0, 1.0).extend(100.0)
    # 10, then 20 more of twice the length, then half as much again.
    assert moved.milestones.tolist() == [10.0, 50.0, 75.0, 112.5]
    # The third ends at 30 + 25 / 2 of the first machine; it is read at twice the time, too.
    assert moved.checkpoint == pytest.approx([1.0, 2 * 3.0, 2 * 4.25, 2 * 6.125])
    assert moved.restart == pytest.approx([0.0, 2 * 2.0, 2 * 6.0, 2 * 8.5])


@pytest.mark.parametrize("wrong", [(0.0, None), (np.nan, None), (1.7, -1.0), (np.inf, 1.0)])
def test_factors_are_checked(wrong: tuple[float, float | None]) -> None:
    with pytest.raises(ParameterError, match="finite number > 0"):
        transfer_plan(PLAN, *wrong)


def test_phases_are_slower_within_their_ranges() -> None:
    there = slow_runs(RUNS, 4, Slowdowns(), np.random.default_rng(1))
    ratio = there.durations / RUNS.durations
    assert np.ptp(ratio[:, :4], axis=1) == pytest.approx(0)
    assert np.ptp(ratio[:, 5:], axis=1) == pytest.approx(0)
    for column, low, high in ((0, 1.0, 1.6), (4, 2.3, 2.5), (6, 1.0, 1.6)):
        assert low <= ratio[:, column].min() < ratio[:, column].max() <= high
    # Each phase for itself.
    assert abs(np.corrcoef(ratio[:, 0], ratio[:, 6])[0, 1]) < 0.6
    assert there.peaks.tolist() == RUNS.peaks.tolist()
    with pytest.raises(ParameterError, match="others"):
        Slowdowns(others=(1.6, 1.0))
    with pytest.raises(ParameterError, match="segmentation"):
        Slowdowns(segmentation=(2.0,))


def test_factors_from_a_few_runs() -> None:
    here = TaskRuns(np.array([[10.0, 10.0, 30.0], [20.0, 0.0, 60.0]]), np.ones((2, 3)))
    there = TaskRuns(np.array([[15.0, 10.0, 60.0], [24.0, 0.0, 120.0]]), np.ones((2, 3)))
    # 229 s instead of 130 s; the tasks before the last took 1.25 and 1.2 times as long.
    assert measure_scaling(here, there, 2) == Scaling(229 / 130, 1.2)
    assert measure_scaling(here, there, 0) == Scaling(229 / 130, 229 / 130)


def test_requests_are_raised_to_the_bounds() -> None:
    plan = ReservationPlan([1.0, 2.0, 3.0, 4.0], True, CostModel(), memory=[16.0, 50.0, 11.0, 11.0])
    assert np.asarray(_raise_memory(plan, 50.0, (15.0, 51.0)).memory).tolist() == [16.0, 51.0, 15.0, 15.0]


def test_a_machine_that_is_not_slower_needs_what_the_first_one_needs() -> None:
    item = find_experiment("profiles-fig18")
    same = replace(item.quick, segmentation=(1.0, 1.0), others=(1.0, 1.0), scales=("measured",), samples=(8,), n=80)
    rows = item.measure(same, 5)[""]
    here = [row for row in rows if row["machine"] == "Haswell"]
    there = [row for row in rows if row["machine"] == "KNL"]
    assert len(here) == len(there) == 6
    for one, other in zip(here, there, strict=True):
        for name in ("memory_gb", "reservation_min", "reservations", "walltime_min"):
            assert other[name] == pytest.approx(one[name])
        assert other["unscaled_overheads_min"] == pytest.approx(one["reservation_min"])


def test_scaled_checkpoints_cost_what_the_verdict_says() -> None:
    # A job with two reservations pays for the scaled checkpoint of the first and the scaled restart of the second.
    plan = ReservationPlan([100.0, 300.0], [True, False], CostModel(checkpoint=50.0, restart=10.0), memory=[9.0, 9.0])
    runs = TaskRuns(np.array([[250.0]]), np.array([[9.0]]))
    device = CheckpointDevice(0.0, 5.0, 0.0, 1.0)
    slow = TaskRuns(runs.durations * 2, runs.peaks)
    scaled, spared = (
        execute(transfer_plan(plan, 2.0, overheads=overheads), slow, device).reserved for overheads in (True, False)
    )
    assert (scaled - spared).tolist() == [50.0 + 10.0]


def test_parameters_of_both_figures_are_checked() -> None:
    item = find_experiment("profiles-fig18")
    for wrong in ({"samples": (1,)}, {"new_runs": 99}, {"calibration": 0}, {"bounds": (1.0,)}, {"repetitions": 0}):
        with pytest.raises(ParameterError):
            item.measure(replace(item.quick, **wrong), 0)
    with pytest.raises(UnknownNameError, match="printed"):
        item.measure(replace(item.quick, scales=("guessed",)), 0)
    with pytest.raises(ParameterError, match="share"):
        find_experiment("profiles-fig17").measure(replace(find_experiment("profiles-fig17").quick, share=2.0), 0)


def figure_18(there: float, minutes: float, cut: int, factor: float) -> dict[str, Outcome]:
    rows = []
    for repetition in range(4):
        common = {"samples": 5, "repetition": repetition, "runs": 10, "short_checkpoints": 0, "memory_failures": 0}
        for strategy, own in (("all-ckpt", 52.0), ("mem-all-ckpt-v2", 40.0)):
            memory = 52.0 if strategy == "all-ckpt" else there
            here = {"machine": "Haswell", "scale": "none", "memory_gb": own, "segmentations_cut": 0}
            slow = {"machine": "KNL", "scale": "measured", "memory_gb": memory, "segmentations_cut": cut}
            slow |= {"reservation_min": 240.0, "unscaled_overheads_min": 240.0 - minutes, "walltime_min": 200.0}
            slow |= {"factor": factor, "first": 1.1}
            rows += [{**common, "strategy": strategy, **row} for row in (here, slow)]
    data = [{"measured": 1, "runs": 88, "why": ""}]
    verdicts = find_experiment("profiles-fig18").judge({"": rows, "data": data})
    return {verdict.claim.removeprefix("measured factors: "): verdict.outcome for verdict in verdicts}


def test_verdicts_of_figure_18_can_fail() -> None:
    assert set(figure_18(41.0, 4.0, 0, 1.7).values()) == {Outcome.HOLDS}
    bad = figure_18(47.0, 40.0, 3, 2.2)
    assert len(bad) == 8
    assert [claim for claim, outcome in bad.items() if outcome is not Outcome.FAILS] == [
        "V2 asks for more memory on KNL than on Haswell",
        "the walltime on KNL is more than 3 hours",
        "the factor of the first reservation, computed from a few runs",
    ]


def test_verdicts_of_figure_17_can_fail() -> None:
    def verdict_outcomes(first: float, second: float, memory: list[float], late: int) -> list[Outcome]:
        shown = [
            {"machine": machine, "memory_gb": value, "reservation": place}
            for machine in ("Haswell", "KNL")
            for place, value in enumerate(memory, 1)
        ]
        shares = [
            {"run": run, "machine": machine, "reservation": place, "share": share + 0.001 * run}
            for machine, less in (("Haswell", 0.0), ("KNL", 0.05))
            for run in range(5)
            for place, share in ((1, first - less), (2, second))
        ]
        settings = [{"heavy_task": 5, "first_end_min": 30.0, "earlier": late, "runs": 5}]
        data = [{"measured": 1, "runs": 88, "why": ""}]
        made = {"reservations": shown, "shares": shares, "settings": settings, "data": data}
        return [verdict.outcome for verdict in find_experiment("profiles-fig17").judge(made)]

    assert verdict_outcomes(0.18, 0.65, [14.0, 51.0, 11.0], 0) == [Outcome.HOLDS] * 5
    assert verdict_outcomes(0.3, 0.5, [16.0, 51.0, 51.0], 2) == [Outcome.FAILS] * 5


def test_measured_runs_save_memory_on_the_other_machine(tmp_path: Path) -> None:
    item = find_experiment("profiles-fig18")
    tasks = str(shared_file("slant", "slant_drd_tasks.csv"))
    verdicts = run_experiment(item, replace(item.quick, tasks=tasks, scales=("measured",)), 0, tmp_path, "0", workers=1)
    assert verdicts[-1].claim.startswith("the factor of the first")
    assert verdicts[-1].outcome != Outcome.FAILS
    assert Outcome.NOT_COMPARABLE not in {verdict.outcome for verdict in verdicts}

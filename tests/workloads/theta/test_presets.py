"""Presets of the generator."""

from __future__ import annotations

from statistics import mean, pstdev

import numpy as np
import pytest

from holdfast.experiments.traces.calibration import measure
from holdfast.workloads.ground.errors import UnknownNameError
from holdfast.workloads.hybrid.groups import group_jobs
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.presets import PRESETS, preset_year
from holdfast.workloads.theta.year import ThetaYear


def test_presets_are_changes_of_a_year() -> None:
    assert preset_year("default") == ThetaYear()
    both = preset_year("even-projects+runtime-backfilling", ThetaYear(jobs=7))
    assert (both.jobs, both.rank_exponent, both.patience) == (7, 1.5, 480.0)
    with pytest.raises(UnknownNameError, match="even-projects"):
        preset_year("even-project")
    assert all(preset_year(name) for name in PRESETS)


def test_projects_are_more_even() -> None:
    """The standard deviation of the share of on-demand jobs over draws of types: sqrt(p (1 - p) sum of squares)."""

    def spread(name: str) -> float:
        sizes = np.bincount(group_jobs(generate(preset_year(name, ThetaYear(jobs=3000)), 5), "project"))
        return float((0.09 * np.sum((sizes / sizes.sum()) ** 2)) ** 0.5)

    assert spread("even-projects") < 0.8 * spread("default")


@pytest.mark.slow
def test_fig_4_and_table_2() -> None:
    """Fig. 4: 3 to 15 % over ten draws, a standard deviation of about 12 / 3.08 (the range of ten normal numbers)."""
    spreads = []
    for seed in range(3):
        sizes = np.bincount(group_jobs(generate(preset_year("even-projects"), seed), "project"))
        spreads.append((0.09 * np.sum((sizes / sizes.sum()) ** 2)) ** 0.5)
    assert 0.030 < mean(spreads) < 0.045
    years = [measure(seed, preset_year("runtime-backfilling"), backfill_length="runtime") for seed in range(10)]
    turnaround = [year.turnaround for year in years]
    assert abs(mean(turnaround) - 15.6) < 3 * pstdev(turnaround) / len(years) ** 0.5
    assert abs(mean(year.utilisation for year in years) - 0.8393) < 0.01

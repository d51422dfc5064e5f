"""The presets of the hybrid paper give what the independent reading of the hybrid model gives, job for job."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.experiments.paper_readings import find_reading
from holdfast.simulator import simulate
from tests.preset.__main__ import main
from tests.preset.comparison import compared_years, faults
from tests.reference.hybrid import MECHANISMS
from tests.strategies.tables import crowded_job_table, random_job_table
from tests.support.seeds import in_parts

OPTIONS = find_reading("paper").options


@pytest.mark.parametrize("name", ["paper", pytest.param("claims", marks=pytest.mark.system)])
def test_a_few_weeks_under_all_mechanisms(name: str) -> None:
    years = list(compared_years(name, 400, 400, 3))
    assert [year.mechanism for year in years] == ["baseline", *MECHANISMS]
    assert not [fault for year in years for fault in year.faults]
    # Otherwise nothing that a mechanism does would have been compared.
    assert all(year.preempted > 0 for year in years[1:])
    assert years[2].shrunk > 0


@pytest.mark.parametrize("seeds", in_parts(range(6), 2))
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_rare_rules_meet_on_small_machines(mechanism: str, seeds: range) -> None:
    for seed in seeds:
        for table in (random_job_table(seed, max_jobs=40), crowded_job_table(seed)):
            result = simulate(table.jobs, table.nodes, mechanism, events=False, **OPTIONS)
            assert not faults(table.jobs, table.nodes, mechanism, OPTIONS, result)


def test_a_difference_is_found(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.preset import comparison

    def otherwise(*words: Any, **options: Any) -> Any:
        return simulate(*words, **{**options, "malleable_start": "free"})

    monkeypatch.setattr(comparison, "simulate", otherwise)
    assert main(["--jobs", "300", "--length", "300", "--seed", "3"]) == 1
    output = capsys.readouterr().out
    assert "N-PAA: 300 jobs" in output
    assert "the independent reading has" in output


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper", "claims"])
def test_a_hundred_thousand_jobs(name: str) -> None:
    assert main(["--jobs", "100000", "--seed", "0", "--reading", name]) == 0

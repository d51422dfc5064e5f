"""What the benchmarks print is read, judged and kept."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.requests.log_requests import LogRequests, RecordedJob
from tests.benchmarks.__main__ import BENCHMARKS, Benchmark, record, run, show
from tests.benchmarks.figures import Figure, print_figure
from tests.benchmarks.machine_waits import mean_wait, on_one_pool

FIGURES = [
    Figure("engine of a generated year", 1.5, "s"),
    Figure("engine over the plain loop, a generated year", 2.25, "x", "<= 1.7"),
    Figure("CUA-PAA over the baseline, a generated year", 1.25, "x", "<= 1.5"),
    Figure("CUP-SPAA over the baseline, a generated year", 1.875, "x", "<= 1.5"),
    Figure("choosing the next of 128 jobs", 20_500.0, "steps/s", ">= 20,000"),
]


def test_a_figure_is_read_as_it_was_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for figure in FIGURES:
        print_figure(*figure)
    assert [Figure.of(line) for line in capsys.readouterr().out.splitlines()] == FIGURES
    assert [figure.met for figure in FIGURES] == [None, False, True, False, True]
    assert Figure.of("a line | with | bars | in | it") is None


def test_the_table_says_what_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    show(FIGURES)
    shown = capsys.readouterr().out
    assert shown.count("missed") == 2 and shown.count("met") == 2
    assert "20,500  steps/s   >= 20,000: met" in shown


def test_figures_are_kept(tmp_path: Path) -> None:
    history = tmp_path / "speed.csv"
    record(FIGURES, history)
    record(FIGURES[:1], history)
    rows = [line.split(",") for line in history.read_text().splitlines()]
    assert rows[0] == ["date", "version", "figure", "value", "unit"]
    assert len(rows) == 1 + len(FIGURES) + 1


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=[item.name for item in BENCHMARKS])
def test_each_benchmark_is_there(benchmark: Benchmark) -> None:
    assert find_spec(f"tests.benchmarks.{benchmark.name}") is not None


@pytest.mark.system
def test_a_benchmark_is_run_and_its_figures_are_taken() -> None:
    figures = run(Benchmark("growth", ("--jobs", "10", "20", "200")), large=False)
    assert [figure.unit for figure in figures] == ["x"] * 3
    assert all(figure.value > 0 for figure in figures)


def test_one_pool_has_room_that_servers_have_in_pieces() -> None:
    """Three jobs of five GPUs for an hour: two servers of eight hold one each, a pool of sixteen holds all three."""
    machine = make_machine(nodes=[{"names": "s[1-2]", "cores": 8, "gpus": 8}])
    jobs = tuple(
        RecordedJob(number, 0.0, 3600.0, 3600.0, None, "", ResourceRequest(gpus={"gpu": 5})) for number in (1, 2, 3)
    )
    log = LogRequests(jobs, Counter(), "", Counter())
    started, wait = mean_wait(machine, log)
    assert (len(started.jobs), wait) == (3, pytest.approx(1 / 3))
    assert mean_wait(*on_one_pool(machine, log))[1] == 0

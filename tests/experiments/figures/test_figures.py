"""Figures: they show the data, name their units, need no display, and are the same bytes each time."""

from __future__ import annotations

import ast
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle, StepPatch

import holdfast.experiments.figures
from holdfast.experiments.figures.planning.waits import plot_trace
from holdfast.experiments.figures.recording.gantt import plot_gantt
from holdfast.experiments.figures.study.delays import draw_distributions
from holdfast.experiments.figures.study.evaluation import plot_courses
from holdfast.experiments.figures.study.machine import plot_accounting, plot_machine
from holdfast.experiments.figures.study.mechanisms import METRICS, draw_contrasts, plot_mechanisms
from holdfast.experiments.figures.study.workload_inputs import plot_sizes
from holdfast.experiments.figures.style import TYPE_COLORS, mechanism_color, mechanism_marker, save
from holdfast.experiments.recordings.time_windows import Window
from holdfast.experiments.timelines.distributions import distribution_rows
from holdfast.experiments.timelines.paired_contrasts import contrast_rows
from holdfast.experiments.timelines.steps import bin_averages, choose_bin, choose_unit
from holdfast.simulator import Result, simulate
from holdfast.simulator.results.catalogue import SUMMARY_COLUMNS
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.columns import Metric
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.job import Job, JobType

pytestmark = pytest.mark.pictures("png", "pdf")

RIGID, MALLEABLE, ON_DEMAND = JobType.RIGID, JobType.MALLEABLE, JobType.ON_DEMAND
JOBS = [
    Job(1, RIGID, 0, 6, 7200, 9000, setup=300, checkpoint_interval=1500, checkpoint_cost=60),
    Job(2, MALLEABLE, 60, 6, 9000, 12000, min_nodes=2, setup=120),
    Job(3, MALLEABLE, 120, 4, 5400, 6000, min_nodes=2, setup=120),
    Job(4, RIGID, 900, 8, 3600, 4000, setup=200),
    Job(5, ON_DEMAND, 4200, 10, 1800, 2400, notice=2700, estimated_arrival=4200),
    Job(6, ON_DEMAND, 9000, 4, 1500, 2000),
    Job(7, RIGID, 1800, 2, 1500, 1800),
]


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return [simulate(JOBS, 16, name) for name in ("baseline", "CUA-SPAA", "CUP-PAA")]


@pytest.fixture(scope="module")
def long_result() -> Result:
    """Some months with thousands of scheduling passes."""
    rng = np.random.default_rng(3)
    submits = np.sort(rng.uniform(1e9, 1e9 + 90 * 86400, 900)).tolist()
    sizes, times = rng.integers(1, 9, 900).tolist(), rng.uniform(600, 86400, 900).tolist()
    jobs = [
        Job(row, RIGID, submit, nodes, time, time)
        for row, (submit, nodes, time) in enumerate(zip(submits, sizes, times, strict=True))
    ]
    return simulate(jobs, 24, events=False)


@pytest.fixture(scope="module")
def trace() -> Trace:
    jobs = tuple(TraceJob(job.job_id, float(job.submit or 0), job.nodes, job.runtime, job.walltime) for job in JOBS)
    waited = tuple(TraceJob(9 + row, 5000.0 * row, 2, 600.0, 900.0, wait=60.0 * row) for row in range(5))
    return Trace(jobs + waited, nodes=16)


def check_labels(axes: Axes, *, x: bool = True) -> None:
    """Both axes have a label, and it ends in a unit."""
    assert axes.get_ylabel(), "no label on the ordinate"
    if x:
        assert axes.get_xlabel().count("(") == 1, axes.get_xlabel()


def steps(axes: Axes, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and edges of the drawn step function of that number."""
    values, edges, _ = cast(StepPatch, axes.patches[number]).get_data()
    return np.asarray(values), np.asarray(edges)


def dots(axes: Axes) -> list[float]:
    """Where the dots of a panel are, from top to bottom; lines of two points are intervals."""
    found = [line for line in axes.lines if len(np.asarray(line.get_xdata())) == 1]
    found.sort(key=lambda line: float(np.asarray(line.get_ydata())[0]))
    return [float(np.asarray(line.get_xdata())[0]) for line in found]


def test_dots_are_the_summaries(results: list[Result]) -> None:
    summaries = [summarize(result) for result in results]
    figure = plot_mechanisms(summaries)
    assert len(figure.axes) == len(METRICS) == 8
    for axes, metric in zip(figure.axes, METRICS, strict=True):
        scale = 100 if metric.percent else 1
        assert dots(axes) == pytest.approx([scale * float(row[metric.name]) for row in summaries])
        assert axes.get_title(loc="left").endswith(("(h)", "(%)"))
        assert axes.get_xlim()[0] >= 0
        assert axes.get_xlim()[1] <= metric.most
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == ["baseline", "CUA-SPAA", "CUP-PAA"]


def test_differences_are_paired_and_lie_in_their_intervals(results: list[Result]) -> None:
    rows = contrast_rows(results)
    own = {(row["mechanism"], row["metric"]): row for row in rows}
    summaries = {result.mechanism: summarize(result) for result in results}
    for (mechanism, name), row in own.items():
        assert row["value"] == pytest.approx(summaries[mechanism][name])
        if mechanism != "baseline":
            # Every job ran in all of them.
            assert row["difference"] == pytest.approx(
                float(summaries[mechanism][name]) - float(summaries["baseline"][name])
            )
            assert row["low"] is None or row["low"] <= row["difference"] <= row["high"]
    assert own["CUA-SPAA", "utilization"]["low"] is None
    assert own["CUA-SPAA", "wait_h"]["low"] < own["CUA-SPAA", "wait_h"]["high"]
    figure = draw_contrasts(rows)
    (panel,) = (axes for axes in figure.axes if axes.get_title(loc="left").startswith("(a) Mean wait"))
    assert dots(panel) == pytest.approx([0, *(own[name, "wait_h"]["difference"] for name in ("CUA-SPAA", "CUP-PAA"))])
    # Of other jobs there are no pairs.
    other = simulate([Job(row, RIGID, 7 * row, 2, 60, 60) for row in range(1, 8)], 16)
    assert all(row["difference"] is None for row in contrast_rows([results[0], other]))


def test_distributions_are_those_of_the_jobs(results: list[Result]) -> None:
    rows = distribution_rows(results[:1])
    waits = [(record.wait or 0) / 3600e6 for record in results[0].records]
    everyone = [row for row in rows if row["metric"] == "wait_h" and row["sizes"] == "all"]
    assert [everyone[0]["value"], everyone[-1]["value"]] == pytest.approx([min(waits), max(waits)])
    (median,) = (row["value"] for row in everyone if row["quantile"] == 0.5)
    assert median == pytest.approx(np.median(waits))
    jobs = {row["sizes"]: row["jobs"] for row in rows if row["metric"] == "wait_h"}
    assert jobs == {"all": 7, "2": 1, "4": 2, "6 to 8": 3, "10": 1}
    # A table that was read back has numbers for sizes that are numbers.
    again = [row | {"sizes": 2 if row["sizes"] == "2" else row["sizes"]} for row in rows]
    figure = draw_distributions(again)
    assert [text.get_text() for text in figure.axes[2].get_yticklabels()] == ["2", "4", "6 to 8", "10"]
    assert len(figure.axes[2].lines) == len(figure.axes[3].lines) == 3 * 4
    assert not figure.legends, "one result needs no legend"
    with pytest.raises(InputError, match="no waits"):
        draw_distributions([])


def test_metrics_of_no_jobs_are_labelled_as_missing(tmp_path: Path) -> None:
    row: dict[str, Any] = dict.fromkeys(SUMMARY_COLUMNS, math.nan)
    known = row | {"mechanism": "baseline", "turnaround_h": 2.0}
    figure = plot_mechanisms([known, row | {"mechanism": "their-own"}])
    assert [text.get_text() for text in figure.axes[0].texts] == ["2.00", "no such job"]
    assert len(figure.axes) == 1, "metrics that no result has need no panel"
    save(figure, tmp_path / "nothing", dpi=50)
    with pytest.raises(InputError, match="no metrics"):
        plot_mechanisms([row | {"mechanism": "baseline"}])


def test_colors_tell_mechanisms_apart() -> None:
    names = ["baseline", "N-PAA", "N-SPAA", "CUA-PAA", "CUA-SPAA", "CUP-PAA", "CUP-SPAA"]
    assert mechanism_color("other", 0) != mechanism_color("other", 1)
    # Also in greyscale, where neighbours in lightness are this far apart at least (of 100).
    greys = sorted(lightness(mechanism_color(name)) for name in names)
    assert min(np.diff(greys)) > 8
    assert {mechanism_marker(name) for name in names} == set("Dos^")
    types = sorted(lightness(color) for color in TYPE_COLORS.values())
    assert min(np.diff(types)) > 6


def lightness(color: str) -> float:
    """CIE L* of a colour."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 116 * float(np.dot([0.2126, 0.7152, 0.0722], linear)) ** (1 / 3) - 16


def test_machine_shows_all_busy_node_hours(long_result: Result) -> None:
    figure = plot_machine(long_result)
    assert [axes.get_ylabel() for axes in figure.axes] == ["Nodes (%)", "Jobs", "Nodes (%)"]
    assert figure.axes[2].get_xlabel() == "Time (UTC, 2001), averages over 6 hours"
    busy, edges = steps(figure.axes[0], 0)
    assert len(busy) < 400
    assert edges[0] == 0
    share = float(np.dot(busy, np.diff(edges)) / edges[-1] / 100)
    accounting = long_result.accounting
    assert share == pytest.approx(1 - (accounting.idle + accounting.held) / sum(accounting))


def test_machine_shows_a_few_hours_as_they_are(results: list[Result]) -> None:
    figure = plot_machine(results[1])
    assert figure.axes[2].get_xlabel() == "Time since the first submit (h)"
    busy, edges = steps(figure.axes[0], 0)
    timeline = results[1].timeline()
    assert edges.tolist() == pytest.approx((timeline["time"] / 3600).tolist())
    assert busy.tolist() == pytest.approx((timeline["busy"] / 0.16).tolist()[:-1])


def test_several_machines_differ_from_the_first(results: list[Result]) -> None:
    figure = plot_machine(results)
    # The first, and a row for each other.
    assert len(figure.axes) == 6
    assert len({axes.get_ylim() for axes in figure.axes[3::2]}) == 1
    assert figure.get_supxlabel() == "Time since the first submit (h)"
    apart, edges = steps(figure.axes[3], 0)
    first, other = (result.timeline() for result in results[:2])
    area = [
        float(np.dot(line["waiting_jobs"].to_numpy()[:-1], np.diff(line["time"].to_numpy()))) / 3600
        for line in (first, other)
    ]
    assert float(np.dot(apart, np.diff(edges))) == pytest.approx(area[1] - area[0])


def test_dates_reach_the_end_of_the_longest_result() -> None:
    # Two jobs of two days on the machine: at once, then one after the other.
    jobs = [Job(number, JobType.RIGID, 1e9, 8, 2 * 86400, 2 * 86400) for number in (1, 2)]
    both, one = (simulate(jobs, nodes) for nodes in (16, 8))
    figure = plot_machine([replace(both, label="both"), replace(one, label="one")])
    last = max(axes.get_xticks()[-1] for axes in figure.axes)
    assert last > steps(figure.axes[0], 0)[1][-1]


def test_accounting_is_complete(results: list[Result]) -> None:
    figure = plot_accounting(results)
    left, right = figure.axes
    labels = {axes.get_xlabel() for axes in (left, right)}
    assert labels == {"Share of node-hours (%)"}
    for row, result in enumerate(results):
        widths = [cast(Rectangle, bars.patches[row]).get_width() for bars in left.containers]  # type: ignore[attr-defined]
        assert sum(widths) == pytest.approx(100)
        assert widths[0] == pytest.approx(100 * result.accounting.compute / sum(result.accounting))


def test_gantt_shows_warnings_and_preemptions(results: list[Result]) -> None:
    figure = plot_gantt(results[2], Window(end=10000))
    check_labels(figure.axes[0])
    names = {text.get_text() for text in figure.legends[0].get_texts()}
    assert names == {"rigid", "on-demand", "malleable", "under warning", "preempted here", "held"}
    assert figure.axes[0].get_xlim()[1] == pytest.approx(10000 / 60)
    with pytest.raises(InputError, match="no event log"):
        plot_gantt(simulate(JOBS, 16, events=False))
    with pytest.raises(InputError, match="window"):
        plot_gantt(results[0], Window(1e6, 2e6))


def test_trace_is_one_page(trace: Trace, results: list[Result]) -> None:
    figure = plot_trace(trace, results[0])
    assert len(figure.axes) == 6
    for axes in figure.axes:
        check_labels(axes, x="Time" not in axes.get_xlabel())
    names = [text.get_text() for text in figure.axes[4].get_legend().get_texts()]  # type: ignore[union-attr]
    assert names == ["recorded", "simulated"]
    recorded = figure.axes[4].lines[0]
    # Waits of 0, 1, 2, 3, 4 minutes: three fifths are at most two.
    at, share = np.asarray(recorded.get_xdata(), dtype=float), np.asarray(recorded.get_ydata(), dtype=float)
    assert share[np.searchsorted(at, 2 / 60 + 1e-9, side="right") - 1] == pytest.approx(60)


@pytest.mark.system
def test_a_trace_of_one_job_without_waits_can_be_drawn(tmp_path: Path) -> None:
    figure = plot_trace(Trace((TraceJob(1, 5.0, 1, 60.0, 60.0),)))
    assert figure.axes[4].texts[0].get_text() == "no waits recorded"
    save(figure, tmp_path / "one")
    with pytest.raises(InputError, match="no jobs"):
        plot_trace(Trace(()))


def test_nothing_to_draw_is_reported() -> None:
    for plot in (plot_mechanisms, plot_machine, plot_accounting):
        with pytest.raises(InputError, match="there are no"):
            plot([])


@pytest.mark.system
def test_a_second_save_makes_the_same_bytes(results: list[Result], trace: Trace, tmp_path: Path) -> None:
    def write_figures(number: int) -> list[bytes]:
        figures = [plot_gantt(results[2]), plot_trace(trace, results[0])]
        # The first is saved twice: a figure is laid out only once. Coarse pixels cost less.
        paths = [
            save(figure, tmp_path / f"{number}-{row}", dpi=50) for row, figure in enumerate([figures[0], *figures])
        ]
        return [path.read_bytes() for pair in paths for path in pair]

    # Two at a time, so that nothing shared can go unnoticed.
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(write_figures, (1, 2))
    assert first == second
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".pdf"}
    for content in first:
        assert b"CreationDate" not in content
        assert b"atplotlib" not in content
    assert first[:2] == first[2:4]


@pytest.mark.system
def test_a_figure_is_drawn_once_for_each_file(results: list[Result], tmp_path: Path) -> None:
    figure = plot_accounting(results)
    seen: list[None] = []
    figure.axes[0].add_artist(_Counted(seen))
    save(figure, tmp_path / "counted")
    assert len(seen) == 2


class _Counted(Artist):
    """Counts how often it is drawn."""

    def __init__(self, seen: list[None]) -> None:
        super().__init__()
        self.seen = seen

    def draw(self, renderer: object) -> None:
        self.seen.append(None)


@pytest.mark.system
def test_matplotlib_is_imported_only_to_draw() -> None:
    directory = Path(holdfast.experiments.figures.__file__).parent
    for path in sorted(directory.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        assert "import matplotlib.pyplot" not in source
        for node in ast.parse(source).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith(("matplotlib", "pandas")) for name in names), path


def test_averages_keep_the_integral() -> None:
    rng = np.random.default_rng(1)
    times, values = np.sort(rng.uniform(0, 10, 50)), rng.uniform(0, 5, 50)
    edges = np.linspace(0, 12, 7)
    averages = bin_averages(times, values, edges)
    area = float(np.dot(values, np.diff(np.append(times, 12.0))))
    assert float(np.dot(averages, np.diff(edges))) == pytest.approx(area)
    assert bin_averages([0.0], [3.0], np.array([0.0, 1.0, 5.0])).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("span", "symbol", "width"),
    [
        (60, "s", 10),
        (7200, "min", 60),
        (86400, "h", 300),
        (30 * 86400, "d", 6 * 3600),
        (3e7, "d", 86400),
        (3e9, "d", 26 * 604800),
    ],
)
def test_units_and_bins_suit_the_span(span: float, symbol: str, width: float) -> None:
    assert choose_unit(span).symbol == symbol
    assert choose_bin(span, 10**6)[0] == width
    assert choose_bin(span, 10) == (0.0, "")


def test_whiskers_end_at_what_is_possible() -> None:
    rows = [
        {"line": "x", "mechanism": "CUA-PAA", "trace": trace, "at": at, "share": share, "wait_h": 20 * share}
        for at, shares in ((1.0, (0.0, 0.1, 0.0)), (2.0, (1.0, 0.8, 1.0)))
        for trace, share in enumerate(shares)
    ]
    metrics = [Metric("share", unit="%", scale=100.0), Metric("wait_h", unit="h")]
    share, wait = plot_courses(rows, "at", "At", [("X", "x")], metrics).axes

    def ends(axes: Axes) -> list[float]:
        found = [bar.get_segments() for bar in axes.collections if isinstance(bar, LineCollection)]
        return [float(end) for segments in found for segment in segments for end in segment[:, 1]]

    assert (min(ends(share)), max(ends(share))) == (0.0, 100.0)
    assert min(ends(wait)) == 0.0 and max(ends(wait)) > 20.0
    sizes = [
        {"smallest": size, "largest": size, "share_of_jobs": share, "share_of_node_hours": 1 - share}
        for size in (1, 2)
        for share in (0.0, 0.02, 0.0)
    ]
    assert (min(ends(plot_sizes(sizes).axes[0])), max(ends(plot_sizes(sizes).axes[0]))) == (0.0, 100.0)

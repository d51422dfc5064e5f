"""Pictures of one simulation: they show the data, in any window of time, and say what they cannot do."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import StepPatch

from holdfast.experiments import cli
from holdfast.experiments.figures.recording.gantt import plot_gantt
from holdfast.experiments.figures.recording.heat import plot_wait_map, wait_cells
from holdfast.experiments.figures.recording.node_use import plot_use
from holdfast.experiments.figures.recording.on_demand_jobs import plot_on_demand
from holdfast.experiments.figures.recording.queue import plot_queue
from holdfast.experiments.figures.recording.recording_figures import RECORDING_FIGURES
from holdfast.experiments.figures.recording.time_axis import TimeAxis
from holdfast.experiments.figures.style import save
from holdfast.experiments.gantt.columns import page_columns
from holdfast.experiments.recordings.time_windows import Window
from holdfast.experiments.timelines.on_demand_calls import calls
from holdfast.simulator import simulate
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.outages.outage import Outage, OutageKind
from tests.support.jobs import malleable, on_demand, rigid
from tests.support.sketching import sketches

pytestmark = pytest.mark.pictures("png")

NOON = 1_646_136_000  # 1 March 2022, 12:00 UTC


def make_recording(mechanism: str = "CUA-PAA", since: int = 0) -> Recording:
    at, hour = since, 3600
    jobs = [
        rigid(1, at, 6, 2 * hour, 3 * hour, setup=300, interval=1500, cost=60),
        malleable(2, at + 60, 6, 2.5 * hour, 4 * hour, min_nodes=2, setup=120),
        rigid(3, at + 900, 8, hour, 1.2 * hour, setup=200),
        on_demand(4, at + 4200, 10, 1800, 2400, notice=at + 2700),
        on_demand(5, at + 9000, 4, 1500, 2000),
        on_demand(6, None, 4, 1500, 2000, notice=at + 9600, estimated=at + 10800),
    ]
    return simulate(jobs, 16, mechanism)


def many() -> Recording:
    """Some weeks with thousands of scheduling passes."""
    rng = np.random.default_rng(3)
    submits = np.sort(rng.uniform(1e9, 1e9 + 40 * 86400, 700)).tolist()
    sizes, times = rng.integers(1, 90, 700).tolist(), rng.uniform(600, 86400, 700).tolist()
    jobs = [
        rigid(row, submit, nodes, time, 2 * time, setup=time / 20)
        for row, (submit, nodes, time) in enumerate(zip(submits, sizes, times, strict=True), start=1)
    ]
    jobs += [on_demand(1000 + row, 1e9 + 43200 * row, 40, 3600, 7200) for row in range(70)]
    return simulate(jobs, 400, "N-PAA")


def steps(axes: Axes, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, edges and baseline of the drawn step function of that number."""
    values, edges, baseline = cast(StepPatch, axes.patches[number]).get_data()
    return np.asarray(values), np.asarray(edges), np.asarray(baseline)


@pytest.mark.parametrize("make", [make_recording, many])
def test_the_areas_of_the_stack_are_the_accounting(make: object) -> None:
    recording = make()  # type: ignore[operator]  # a function
    accounting = simulate(recording.table, recording.nodes, recording.mechanism).accounting
    figure = plot_use(recording)
    axes = figure.axes[0]
    areas = {}
    for place, patch in enumerate(axes.patches):
        values, edges, baseline = steps(axes, place)
        areas[patch.get_label()] = float(np.dot(values - baseline, np.diff(edges)))
    ticks = {name: value for name, value in accounting._asdict().items() if value}
    assert set(areas) == set(ticks)
    # Notices come before the first submit, and nothing is drawn there; per cent of a machine, in the unit of the axis.
    whole = sum(areas.values()) / sum(ticks.values())
    for name, value in ticks.items():
        assert areas[name] == pytest.approx(value * whole, rel=1e-6)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts[0] == f"compute {100 * accounting.compute / sum(accounting):.1f} %"


def test_nodes_that_are_down_are_shown() -> None:
    jobs = [rigid(1, 0, 4, 3600), rigid(2, 60, 2, 6600)]
    outage = Outage(OutageKind.MAINTENANCE, 4000, 6000, 6)
    result = simulate(jobs, 8, "N-PAA", outages=[outage])
    recording = result
    assert result.accounting.down > 0
    texts = [text.get_text() for text in plot_use(recording).legends[0].get_texts()]
    assert any(text.startswith("down ") for text in texts)
    names = [text.get_text() for text in plot_gantt(recording).legends[0].get_texts()]
    assert names[-1] == "down"


def test_the_queue_is_drawn_as_it_was() -> None:
    jobs = [rigid(1, 0, 2, 100), rigid(2, 10, 2, 50, 60), rigid(3, 20, 1, 50)]
    figure = plot_queue(simulate(jobs, 2))
    expected = ([0, 1, 2, 1, 0], [0, 100, 150, 50, 0], [0, 120 / 3600, 170 / 3600, 50 / 3600, 0])
    for axes, course in zip(figure.axes, expected, strict=False):
        values, edges, _ = steps(axes, 0)
        assert edges.tolist() == pytest.approx([time / 60 for time in (0, 10, 20, 100, 150, 200)])
        assert values.tolist() == pytest.approx(course)
    waits = [np.asarray(line.get_ydata(), dtype=float).tolist() for line in figure.axes[3].lines]
    assert waits == [pytest.approx([0, 90 / 3600]), pytest.approx([80 / 3600, 130 / 3600])]
    assert figure.axes[3].get_xlabel() == "Time since the first submit (min)"


def test_the_head_of_a_long_queue_is_averaged() -> None:
    """The area below the saw is half the sum of squares, whatever it is averaged over."""
    recording = many()
    figure = plot_queue(recording)
    values, edges, _ = steps(figure.axes[3], 0)
    from holdfast.experiments.timelines.waiting import heads, stays

    total = sum(
        ((end - stay.start) ** 2 - (start - stay.start) ** 2) / 2 / SECOND**2 / 3600
        for start, end, stay in heads(stays(recording))
    )
    assert float(np.dot(values, np.diff(edges))) * 86400 == pytest.approx(total)


def test_who_made_room() -> None:
    # Six nodes are free at the notice, all are in use at the arrival; job 2 shrinks, or is preempted.
    jobs = [
        rigid(1, 0, 6, 4000, 5000), malleable(2, 60, 6, 9000, 9000, min_nodes=2, setup=100),
        on_demand(4, 900, 8, 600, notice=300, estimated=1200),
    ]  # fmt: skip
    call = calls(simulate(jobs, 16, "CUA-SPAA"))[0]
    times = (call.notice, call.held, call.arrival, call.start, call.estimated)
    assert times == tuple(
        tuple(at * SECOND for at in time) if isinstance(time, tuple) else time * SECOND
        for time in (300, (300, 900), 900, 900, 1200)
    )
    assert call.room == {"reserved": 4, "tenants": 0, "planned": 0, "shrunk": 4, "preempted": 0}
    assert call.givers == [2]
    call = calls(simulate(jobs, 16, "N-PAA"))[0]
    assert call.held is None
    # It is warned: two minutes later its nodes are there.
    assert (call.start, call.room["preempted"], call.givers) == (1020 * SECOND, 6, [2])


def test_a_planned_victim_gives_no_more_than_is_missing() -> None:
    jobs = [rigid(1, 0, 8, 9000), on_demand(2, 2000, 4, 600, notice=1000)]
    call = calls(simulate(jobs, 8, "CUP-PAA"))[0]
    assert call.room == {"reserved": 0, "tenants": 0, "planned": 4, "shrunk": 0, "preempted": 0}
    assert call.givers == [1]


def test_tenants_time_outs_and_no_shows() -> None:
    jobs = [
        rigid(1, 0, 4, 300), rigid(2, 150, 4, 3000, 4000, setup=10),
        on_demand(3, 500, 4, 100, notice=100, estimated=500), on_demand(4, None, 2, 60, notice=5000, estimated=6000),
    ]  # fmt: skip
    found = calls(simulate(jobs, 8, "CUA-PAA"))
    assert [call.job_id for call in found] == [3, 4]
    assert found[0].room == {"reserved": 0, "tenants": 4, "planned": 0, "shrunk": 0, "preempted": 0}
    assert (found[1].arrival, found[1].start) == (None, None)
    late = [rigid(1, 0, 4, 3000), on_demand(3, 2000, 8, 100, notice=100, estimated=500)]
    call = calls(simulate(late, 8, "CUA-PAA"))[0]
    assert call.timed_out == 1100 * SECOND
    assert call.held == (100 * SECOND, 1100 * SECOND)
    assert call.room == {"reserved": 0, "tenants": 0, "planned": 0, "shrunk": 0, "preempted": 4}


def test_withdrawn_jobs_are_in_no_wait_and_have_a_story() -> None:
    jobs = [rigid(1, 0, 4, 3600), rigid(2, 60, 4, 3600, cancelled_at=600), rigid(3, 90, 4, 3600)]
    recording = simulate(jobs, 4)
    shown = [text.get_text().split("\n")[1] for text in plot_wait_map(recording).axes[0].texts]
    assert shown == ["2"]
    columns = page_columns(recording)["jobs"]
    assert [columns["statuses"][status] for status in columns["status"]] == ["completed", "withdrawn", "completed"]
    assert columns["start"] == [0, 600, 3600]
    call = calls(simulate([on_demand(1, 0, 4, 100, running_since=10)], 4, "N-PAA"))[0]
    assert (call.arrival, call.start) == (0, 10 * SECOND)


def test_on_demand_jobs_have_a_row_each() -> None:
    figure = plot_on_demand(make_recording())
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == ["4", "5", "6"]
    assert figure.axes[0].get_xlabel() == "Time since the expected arrival (min)"
    texts = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"notice", "arrival", "start", "never came"} <= texts
    dated = plot_on_demand(make_recording(since=NOON))
    assert dated.axes[0].get_yticklabels()[0].get_text() == "4  (1 Mar 13:10)"
    with pytest.raises(InputError, match="no on-demand job is expected"):
        plot_on_demand(make_recording(), Window(end=600))


def test_on_demand_jobs_that_never_came_are_a_figure() -> None:
    jobs = [rigid(1, 0, 4, 3000), on_demand(6, None, 4, 1500, 2000, notice=960, estimated=1080)]
    figure = plot_on_demand(simulate(jobs, 8, "N-PAA"))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["notice", "never came"]


def test_many_on_demand_jobs_are_drawn_in_groups() -> None:
    jobs = [rigid(1, 0, 8, 3600, 4000)]
    jobs += [on_demand(2 + row, 10000 + 1000 * row, 8, 500, 900) for row in range(48)]  # each has the whole machine
    jobs += [
        on_demand(50, 1000, 4, 100, 200),  # preempts job 1
        on_demand(51, 60000, 8, 500, 900), on_demand(52, 60050, 8, 500, 900),  # the second waits 450 s for the first
        on_demand(53, 70000, 8, 500, 900, notice=69000),
        on_demand(54, None, 8, 500, 900, notice=65000, estimated=66000),
    ]  # fmt: skip
    figure = plot_on_demand(simulate(jobs, 8, "N-PAA"))
    delays, room = figure.axes
    names = [text.get_text() for text in delays.get_yticklabels()]
    assert names == ["all (53)", "without notice (51)", "as expected (1)", "never came (1)"]
    widths = [[bar.get_width() for bar in bars] for bars in delays.containers]
    assert [width[0] for width in widths] == pytest.approx([100 * 51 / 52, 0, 100 / 52, 0, 0])
    assert sum(width[2] for width in widths) == pytest.approx(100)
    assert sum(width[3] for width in widths) == 0
    ((everyone, *_),) = ([bar.get_width() for bar in bars] for bars in room.containers)
    assert everyone == pytest.approx(100 * 8 / (4 + 52 * 8))
    assert len(plot_on_demand(many()).axes) == 2


def test_waits_by_size_and_walltime() -> None:
    nodes, walltimes = [1, 2, 3, 4, 4, 9], [900, 900, 3600, 3600, 3601, 300000]
    sizes, lengths, counts, values = wait_cells(nodes, walltimes, [0, 3600, 0, 7200, 60, 5], 0.9)
    assert sizes == ["1", "2", "3\N{EN DASH}4", "5\N{EN DASH}8", "9"]
    assert lengths[0] == "to 15 min"
    assert lengths[-1] == "over 3 d"
    assert counts[0].tolist() == [1, 1, 0, 0, 0]
    assert counts[2].tolist() == [0, 0, 2, 0, 0]
    assert counts[3].tolist() == [0, 0, 1, 0, 0]
    assert counts[-1].tolist() == [0, 0, 0, 0, 1]
    assert values[:, 2, 2].tolist() == pytest.approx([1.0, 1.8])
    assert np.isnan(values[0][counts == 0]).all()
    figure = plot_wait_map(many(), quantile=0.75)
    assert figure.axes[1].get_title(loc="left") == "(b) 75 % waited no longer than"
    shown = [text.get_text().split("\n") for text in figure.axes[0].texts]
    assert sum(int(number.replace(",", "")) for _, number in shown) == 770
    with pytest.raises(InputError, match="quantile must be"):
        plot_wait_map(make_recording(), quantile=1.0)


def test_a_gantt_chart_of_many_jobs_shows_all_of_them() -> None:
    recording = many()
    figure = plot_gantt(recording)
    axes = figure.axes[0]
    area = sum(
        float(np.ptp(path.vertices[:, 0]) * np.ptp(path.vertices[:, 1]))
        for item in axes.collections
        if isinstance(item, PolyCollection)
        for path in item.get_paths()
    )
    accounting = simulate(recording.table, recording.nodes, "N-PAA").accounting
    busy = sum(accounting) - accounting.idle - accounting.held
    # Node-days: all but what is held.
    assert area == pytest.approx(busy / SECOND / 86400)
    assert axes.get_xlabel() == "Time (UTC, 2001)"
    window = plot_gantt(recording, Window("5d", "6d")).axes[0]
    left, right = window.get_xlim()
    assert right - left == pytest.approx(1)
    assert {text.get_text() for text in window.texts} > {"N-PAA"}


def test_windows() -> None:
    recording = make_recording(since=NOON)
    assert Window("2022-03-01T13:00", "2022-03-01T16:00+02:00").bounds(recording) == (3600 * SECOND, 7200 * SECOND)
    assert Window("1h", 7200).bounds(recording) == (3600 * SECOND, 7200 * SECOND)
    whole = Window().bounds(recording)
    assert whole == (0, max(record.end or 0 for record in recording.records) - recording.origin)
    for window, sentence in (
        (Window("2022-13-01"), "--from must be a time after the first submit"),
        (Window("soon"), "--from must be a time after the first submit"),
        (Window(end="0"), "window of time is empty: 0"),
        (Window("2h", "1h"), "window of time is empty: 2h to 1h"),
    ):
        with pytest.raises(InputError, match=sentence):
            window.bounds(recording)
    with pytest.raises(InputError, match="is a date, but this job table has no dates"):
        Window("2022-03-01").bounds(make_recording())
    nobody = [on_demand(1, None, 2, 100, notice=0, estimated=100)]
    with pytest.raises(InputError, match="no job of this result ran"):
        Window().bounds(simulate(nobody, 2, "CUA-PAA"))


def test_a_notice_may_come_before_the_first_submit() -> None:
    jobs = [on_demand(1, 400, 2, 100, notice=0, estimated=300), rigid(2, 100, 2, 50)]
    recording = simulate(jobs, 4, "CUA-PAA")
    # The simulated clock begins at the notice; a user counts from the first submit.
    assert Window().bounds(recording) == (0, 500 * SECOND)
    assert Window(50, "1m").bounds(recording) == (150 * SECOND, 160 * SECOND)


def test_no_bin_is_a_rest() -> None:
    recording = many()
    for end in (20 * 86400, 20 * 86400 + 1000, 20 * 86400 + 20000):
        axis = TimeAxis.of(recording, Window(0, end))
        edges, over = axis.bins(5000)
        assert over == "6 hours"
        assert (edges[0], edges[-1]) == (axis.opens, axis.closes)
        widths = np.diff(edges) / SECOND / 3600
        assert set(widths[:-1]) == {6.0}
        assert 3 <= widths[-1] < 9
    assert len(TimeAxis.of(recording).bins(10)[0]) == 0


@pytest.mark.system
def test_pictures_are_the_same_bytes_again(tmp_path: Path) -> None:
    for name, entry in RECORDING_FIGURES.items():
        written = [
            save(entry.draw(make_recording(), Window(), 0.9), tmp_path / f"{name}-{number}", dpi=50)
            for number in (1, 2)
        ]
        assert written[0][0].read_bytes() == written[1][0].read_bytes()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("results")
    year = directory / "year.swf.gz"
    assert cli.main(["generate", "-o", str(year), "--jobs", "200"]) == 0
    words = ["run", str(year), "-o", str(directory / "out"), "--mechanism", "baseline,CUP-SPAA", "--events"]
    assert cli.main(words) == 0
    return directory / "out"


@pytest.mark.system
def test_the_command(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["picture", "all", str(results), "--mechanism", "CUP-SPAA", "-o", str(tmp_path / "p"), "--to", "2d"]
    with sketches():
        assert cli.main(words) == 0
    # No project of this trace is on-demand: one of the pictures has nothing to show.
    assert "no on-demand: no on-demand job is expected" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {
        f"p-{name}.{kind}" for name in RECORDING_FIGURES if name != "on-demand" for kind in ("png", "pdf")
    }
    capsys.readouterr()
    with sketches():
        assert cli.main(["picture", "use", str(results), "--mechanism", "baseline"]) == 0
    assert (results / "use-baseline.png").is_file()
    assert cli.main(["picture", "on-demand", str(results), "--mechanism", "baseline"]) == 2
    assert "no on-demand job" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gant", "DIR"], "unknown picture 'gant': did you mean gantt?"),
        (["gantt", "DIR"], "holds results of baseline, CUP-SPAA: choose one with --mechanism"),
        (["gantt", "DIR", "--mechanism", "N-PAA"], "not of N-PAA"),
        (["waits", "DIR", "--mechanism", "baseline", "--quantile", "half"], "--quantile must be"),
        (["waits", "DIR", "--mechanism", "baseline", "--quantile", "2"], "quantile must be"),
        (["use", "DIR", "--mechanism", "baseline", "--from", "soon"], "--from must be"),
        (["use", "NONE"], "none: no such file or directory"),
        (["use", "DIR", "--mechanism", "baseline", "-o", "NONE/x"], "is not a directory"),
    ],
)
def test_refusals(words: list[str], sentence: str, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(results) if word == "DIR" else word.replace("NONE", str(results / "none")) for word in words]
    assert cli.main(["picture", *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert len(error.splitlines()) == 1

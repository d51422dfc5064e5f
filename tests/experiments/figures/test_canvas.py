"""Figures at the widths of a column and a page, in each style, and in a figure of the user: no text covers another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import holdfast as hf
from holdfast.experiments.figures.canvas import COLUMN, PAGE, STYLES, Canvas, new_figure, subfigures, subplots
from holdfast.experiments.figures.planning.plans import plot_plan
from holdfast.experiments.figures.style import save
from holdfast.experiments.planning.plan_inputs import make_distribution
from holdfast.simulator import Result
from holdfast.workloads.ground.errors import InputError
from tests.support.figure_texts import text_faults
from tests.support.jobs import on_demand, rigid

pytestmark = pytest.mark.pictures("png", "pdf")

MECHANISMS = ("baseline", "N-PAA", "N-SPAA", "CUA-PAA", "CUA-SPAA", "CUP-PAA", "CUP-SPAA")
#: Figures of one result, and of several.
OF_ONE = ("plot_gantt", "plot_queue", "plot_use", "plot_on_demand", "plot_wait_map")
OF_SEVERAL = ("plot_machine", "plot_accounting", "plot_mechanisms")


#: Widths and numbers of groups: fewest and most groups leave the least room, each at one width.
GROUPS = [
    pytest.param(width, count, marks=() if (width, count) in (("column", 12), ("page", 1)) else pytest.mark.system)
    for width in ("column", "page")
    for count in (1, 2, 12)
]


@pytest.fixture(scope="module")
def results() -> list[Result]:
    """Twelve results of the same jobs."""
    jobs = hf.prepare(hf.generate(jobs=80, seed=3), seed=1)
    first = [hf.simulate(jobs, 4392, name) for name in MECHANISMS]
    return [*first, *(hf.simulate(jobs, 4392, name, order="sjf") for name in MECHANISMS[:5])]


def draw_figure(name: str, results: list[Result], **canvas: Any) -> Figure:
    shown: Any = results if name != "plot_mechanisms" else [result.summary() for result in results]
    figure: Figure = getattr(hf.figures, name)(results[4] if name in OF_ONE else shown, **canvas)
    return figure


@pytest.mark.parametrize("width", ["column", pytest.param("page", marks=pytest.mark.system)])
@pytest.mark.parametrize("name", OF_ONE)
def test_no_texts_of_one_result_cover_each_other(name: str, width: str, results: list[Result]) -> None:
    figure = draw_figure(name, results, width=width)
    assert figure.get_figwidth() == {"column": COLUMN, "page": PAGE}[width]
    assert text_faults(figure) == []


def test_all_figures_are_drawn_here() -> None:
    drawn_here = {*OF_ONE, *OF_SEVERAL, "plot_gains", "plot_plan"}
    assert {name for name in hf.figures.__all__ if name.startswith("plot_")} == drawn_here


def of_users(count: int) -> Result:
    """A result of the jobs of some users, rigid and on-demand in turn, all of them with long names."""
    names = [f"a user number {user + 1}" for user in range(count)]
    rows = [
        kind(1 + 2 * place + offset, 5000.0 * place + 600.0 * offset, 2 + place % 3, 3600.0, user=name, project=name)
        for place, name in enumerate(names)
        for offset, kind in enumerate((rigid, on_demand))
    ]
    return hf.simulate(rows, 6, "CUA-SPAA")


@pytest.mark.system
@pytest.mark.parametrize("users", [1, 2, 12])
@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("name", OF_ONE)
def test_no_texts_of_users_cover_each_other(name: str, width: str, users: int) -> None:
    colored = {"color": "user"} if name == "plot_gantt" else {}
    figure = getattr(hf.figures, name)(of_users(users), width=width, **colored)
    assert text_faults(figure) == []


@pytest.mark.system
@pytest.mark.parametrize("series", [1, 2, 12])
@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("name", OF_SEVERAL)
def test_no_texts_of_several_results_cover_each_other(
    name: str, width: str, series: int, results: list[Result]
) -> None:
    assert text_faults(draw_figure(name, results[:series], width=width)) == []


@pytest.mark.parametrize(("width", "groups"), GROUPS)
def test_no_texts_of_differences_cover_each_other(width: str, groups: int) -> None:
    users = [f"a user number {user + 1}" for user in range(groups)]
    jobs = [
        rigid(1 + row, 900.0 * row, 1 + row % 4, 600.0 * (1 + row % 7), user=users[row % groups]) for row in range(120)
    ]
    first, second = (hf.simulate(jobs, 4, order=order) for order in ("fcfs", "sjf"))
    figure = hf.figures.plot_gains(hf.compare(first, second, by="user"), width=width)
    assert len(figure.axes[0].get_yticks()) == 1 + groups
    assert text_faults(figure) == []


@pytest.mark.parametrize(("width", "reservations"), GROUPS)
def test_no_texts_of_a_plan_cover_each_other(width: Any, reservations: int) -> None:
    runtime = make_distribution("uniform", {"min": "1h", "max": "20h"})
    milestones = np.linspace(20 / reservations, 20, reservations).tolist()
    rows = [
        {
            "checkpointed": True, "restart": 600.0, "work": 3600.0,
            "checkpoint": 600.0, "milestone": milestone * 3600, "length": 4800.0, "probability": 1 - row / reservations,
        }
        for row, milestone in enumerate(milestones)
    ]  # fmt: skip
    figure = plot_plan({"strategy": "ALL", "reservations": rows}, runtime, width=width)
    assert text_faults(figure) == []


def test_texts_that_cover_each_other_are_found() -> None:
    figure = new_figure(3, 2)
    figure.text(0.5, 0.5, "one")
    figure.text(0.5, 0.5, "another")
    figure.text(0.97, 0.2, "outside")
    assert text_faults(figure) == ["'one' and 'another' cover each other", "'outside' leaves the figure"]


@pytest.mark.parametrize("style", STYLES)
def test_styles_change_sizes_and_colours_alone(style: str, results: list[Result]) -> None:
    plain, styled = draw_figure("plot_gantt", results), draw_figure("plot_gantt", results, style=style)
    factor = 1.4 if style == "screen" else 1.0
    np.testing.assert_allclose(styled.get_size_inches(), plain.get_size_inches() * factor)
    colors = [to_rgb(color) for item in styled.axes[0].collections for color in item.get_facecolor()]
    assert (style == "grey") == all(np.ptp(color) < 1e-9 for color in colors)
    assert len(colors) == sum(len(item.get_facecolor()) for item in plain.axes[0].collections)


def test_a_figure_takes_the_place_of_axes_of_the_user(results: list[Result]) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5))
    try:
        part = hf.figures.plot_queue(results[4], axes=right)
        assert left in figure.axes
        assert right not in figure.axes
        assert len(part.axes) == 4
        assert all(axes in figure.axes for axes in part.axes)
        assert text_faults(figure) == []
        middle = figure.bbox.width / 2
        assert min(axes.get_window_extent().x0 for axes in part.axes) > middle
    finally:
        plt.close(figure)


@pytest.mark.parametrize(
    ("canvas", "sentence"),
    [
        ({"width": "wide"}, "width must be column, page, or 2.5 to 40 inches, not 'wide'"),
        ({"width": 1}, "width must be column, page, or 2.5 to 40 inches, not 1"),
        ({"style": "pink"}, "style must be one of paper, screen, grey, not 'pink'"),
    ],
)
def test_what_is_no_canvas_is_refused(canvas: dict[str, Any], sentence: str, results: list[Result]) -> None:
    with pytest.raises(InputError) as caught:
        draw_figure("plot_gantt", results, **canvas)
    assert str(caught.value) == sentence


def test_panels_flow_in_the_order_of_reading() -> None:
    def draw() -> Figure:
        figure = new_figure(PAGE, 2.0)
        panels = subplots(figure, 2, 3, sharey="row")
        for number, axes in enumerate(panels.flat):
            axes.set_title(str(number))
            axes.plot([0, 1], [0, 1 + number])
        return figure

    wide, narrow = Canvas().draw(draw), Canvas(width="column").draw(draw)
    assert wide.get_size_inches().tolist() == [PAGE, 2.0]
    assert narrow.get_size_inches().tolist() == [COLUMN, 6.0]
    tops = [axes.get_position().y0 for axes in narrow.axes]
    assert [axes.get_title() for axes in narrow.axes] == list("012345")
    assert tops == sorted(tops, reverse=True)
    # Scales are shared within the rows of the design.
    limits = [axes.get_ylim() for axes in narrow.axes]
    assert limits[0] == limits[1] == limits[2] != limits[3] == limits[4] == limits[5]


def test_a_part_of_a_figure_grows_with_its_panels() -> None:
    def draw() -> Figure:
        figure = new_figure(PAGE, 3.0)
        above, below = subfigures(figure, (2.0, 1.0))
        subplots(above, 1, 2)
        subplots(below)
        return figure

    figure = Canvas(width="column").draw(draw)
    assert figure.get_figheight() == pytest.approx(5.0)  # the upper part is twice as high as 2 inches


@pytest.mark.system
def test_formats(results: list[Result], tmp_path: Path) -> None:
    figure = draw_figure("plot_queue", results)
    paths = save(figure, tmp_path / "queue", formats=("svg", "pdf"))
    assert [path.name for path in paths] == ["queue.svg", "queue.pdf"]
    first = paths[0].read_bytes()
    save(draw_figure("plot_queue", results), tmp_path / "queue", formats=("svg",))
    assert paths[0].read_bytes() == first
    with pytest.raises(InputError, match="jpg"):
        save(figure, tmp_path / "queue", formats=("jpg",))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["queue.pdf", "queue.svg"]

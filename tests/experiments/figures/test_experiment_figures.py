"""The figures of all experiments, from stored tables of their small sizes: no text covers another at either width."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib.text import Text

from holdfast.experiments.figures.canvas import COLUMN, Canvas, new_figure, subplots
from holdfast.experiments.figures.study.pareto_front import plot_front
from holdfast.experiments.study.experiment import all_experiments, read_tables
from tests.golden.figure_tables import unpack
from tests.support.figure_texts import text_faults

pytestmark = pytest.mark.pictures("png", "pdf")

#: Figures that are drawn in a tenth of a second, for the default tests.
QUICK = ("hybrid-fig3", "hybrid-victims", "beyond-gpu")
DRAWN = [item.id for item in all_experiments().values() if item.draw is not None]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("stored")
    unpack(directory)
    return directory


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.system) for name in DRAWN]
)
def test_no_texts_cover_each_other(name: str, width: Any, store: Path) -> None:
    draw = all_experiments()[name].draw
    assert draw is not None
    assert text_faults(Canvas(width=width).draw(draw, read_tables(name, store))) == []


def test_labels_of_what_is_far_outside_the_front_do_not_meet() -> None:
    """The baseline starts far fewer on-demand jobs, and one that knows true runtimes has a far shorter turnaround."""

    def row(mechanism: str, standing: str, turnaround: float, instant: float) -> dict[str, Any]:
        ends = {"turnaround": turnaround, "instant_start": instant}
        return {
            "mechanism": mechanism, "option": "default", "standing": standing, "instant": "strict", **ends,
            **{f"{name}_{end}": value for name, value in ends.items() for end in ("low", "high")},
        }  # fmt: skip

    first = [
        row("baseline", "beaten", 14.9, 22), row("N-PAA", "front", 14.1, 94), row("CUA-SPAA", "beaten", 16, 97),
        row("CUA-PAA", "oracle", 10.3, 95),
    ]  # fmt: skip
    rows = [{**item, "instant": meaning} for meaning in ("strict", "again") for item in first]
    figure = plot_front(rows, {"strict": "0 s", "again": "the warning"}, "default")
    assert text_faults(figure) == []
    below, above = (Text.get_window_extent(text) for text in figure.axes[0].texts)
    assert above.y0 - below.y1 > 0.5 * below.height  # an arrow leads from each label to an edge


def test_names_of_rows_are_broken_into_lines_that_leave_room_for_a_panel() -> None:
    names = ["Smallest size of a malleable job, 0.05 to 1 h", "Short"]

    def draw() -> Any:
        figure = new_figure(7.0, 1.2)
        for axes in subplots(figure, 1, 2):
            axes.plot([1, 2], [0, 1], "o")
            axes.set_yticks([0, 1], names)
            axes.set_ylim(-0.5, 1.5)
            axes.set_title("An average of something or other, by name", loc="left")
        return figure

    assert [text.get_text() for text in Canvas().draw(draw).axes[0].get_yticklabels()] == names
    figure = Canvas(width="column").draw(draw)
    assert text_faults(figure) == []
    shown = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert shown == ["Smallest size of\na malleable job,\n0.05 to 1 h", "Short"]
    panel = figure.axes[0].get_window_extent().width / figure.dpi
    assert panel > 0.45 * COLUMN
    # The figure grows, so that the names do not meet.
    assert figure.get_figheight() > 2.4

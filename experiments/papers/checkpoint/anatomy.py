"""Experiments for figures 3 and 4 of the checkpoint paper: elapsed time and progress of a job under a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.verdicts import Statement, Verdict, figure, text
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "PART_COLORS", "draw_parts", "parts", "progress"]

#: Colours of parts: restarts are green and checkpoints red as in the paper; they also differ in greyscale.
PART_COLORS = {"restart": "#56C2A0", "work": "#D9E8F3", "checkpoint": "#A83C00"}


@dataclass(frozen=True)
class AnatomyParameters:
    """A sequence; by default one like the paper's {(W1, 1), (W2, 0), (W3, 1), (W4, 0)}.

    Attributes
    ----------
    milestones
        Milestones t_k, in any unit of time.
    checkpointed
        Whether each reservation ends with a checkpoint, delta_k.
    checkpoint, restart
        Durations C and R.
    """

    milestones: tuple[float, ...] = (4.0, 7.0, 11.0, 15.0)
    checkpointed: tuple[bool, ...] = (True, False, True, False)
    checkpoint: float = 1.0
    restart: float = 0.7

    def plan(self) -> ReservationPlan:
        """The plan of the sequence."""
        return ReservationPlan(
            self.milestones,
            np.array(self.checkpointed),
            CostModel(checkpoint=self.checkpoint, restart=self.restart),
        )


def parts(plan: ReservationPlan) -> list[dict[str, Any]]:
    """Timeline of a job that needs every reservation of a plan: one row for each restart, work and checkpoint.

    Returns
    -------
    list of dict
        Rows with ``reservation`` (from 1), ``part``, ``start`` and ``end`` (elapsed time), ``from_work`` and
        ``to_work`` (progress of the job); parts of length 0 are left out.
    """
    rows: list[dict[str, Any]] = []
    now = 0.0
    for number in range(len(plan)):
        before, after = float(plan.milestones[number] - plan.work[number]), float(plan.milestones[number])
        for part, length, low, high in (
            ("restart", plan.restart[number], before, before),
            ("work", plan.work[number], before, after),
            ("checkpoint", plan.checkpoint[number], after, after),
        ):
            if length > 0:
                rows.append(
                    {
                        "reservation": number + 1,
                        "part": part,
                        "start": now,
                        "end": now + float(length),
                        "from_work": low,
                        "to_work": high,
                    }
                )
                now += float(length)
    return rows


def progress(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Corner points of the curve of work done over elapsed time, which falls where unsaved work is lost."""
    corners: list[tuple[float, float]] = []
    for row in rows:
        corners += [(row["start"], row["from_work"]), (row["end"], row["to_work"])]
    return corners


def _measure(parameters: AnatomyParameters, seed: int) -> Tables:
    plan = parameters.plan()
    lengths = [
        {
            "reservation": number + 1,
            "length": float(plan.length[number]),
            "restart": float(plan.restart[number]),
            "work": float(plan.work[number]),
            "checkpoint": float(plan.checkpoint[number]),
            "checkpointed": int(plan.checkpointed[number]),
            "milestone": float(plan.milestones[number]),
        }
        for number in range(len(plan))
    ]
    return {"": parts(plan), "reservations": lengths}


_EXACT = 1e-9
_EQUAL = "holds if the two sides differ by less than 1e-9 in every reservation"
#: Reasons why these statements hold by construction.
_DEFINED = "the equation defines how a reservation is computed"
_DRAWN = "the picture is drawn from these lengths"


def _judge_reservations(tables: Tables) -> list[Verdict]:
    """Judge equation (2): the parts of a reservation."""
    rows, drawn = tables["reservations"], tables[""]
    error = max(abs(row["length"] - (row["restart"] + row["work"] + row["checkpoint"])) for row in rows)
    early = sum(row["restart"] > 0 for row in rows[: 1 + _first_checkpoint(rows)])
    elapsed = sum(row["length"] for row in rows)
    gaps = [abs(a["end"] - b["start"]) for a, b in pairwise(drawn)]
    end = drawn[-1]["end"]
    return [
        Statement("W_k = R_k + T_k + C_k", "equal", text("2.2, equation (2)"), _DEFINED).exact_verdict(
            error < _EXACT,
            _EQUAL,
            f"at most {error:.2g}",
        ),
        Statement(
            "no restart before the first checkpoint", "R_k = 0", text("2.2, equation (4)"), _DEFINED
        ).exact_verdict(
            early == 0, "holds if no reservation up to the first checkpointed one has a restart", f"{early} with one"
        ),
        Statement(
            "the reservations follow each other without a gap",
            "one after the other",
            figure("3", "its caption"),
            _DRAWN,
        ).exact_verdict(
            abs(end - elapsed) < _EXACT and max(gaps, default=0.0) < _EXACT,
            "holds if each part begins where the one before ends, and the last ends at the sum of all W_k",
            f"end at {end:g}, sum {elapsed:g}, largest gap {max(gaps, default=0.0):.2g}",
        ),
    ]


def _judge_progress(tables: Tables) -> list[Verdict]:
    """Judge equation (4): progress after each reservation."""
    rows = tables["reservations"]
    saved, error = 0.0, 0.0
    for row in rows:
        error = max(error, abs(row["milestone"] - (row["work"] + saved)))
        saved += row["work"] if row["checkpointed"] else 0.0
    done = [row["to_work"] for row in tables[""] if row["part"] == "work"]
    milestones = [row["milestone"] for row in rows]
    reached = len(done) == len(rows) and all(abs(a - b) < _EXACT for a, b in zip(done, milestones, strict=True))
    return [
        Statement("t_k = T_k + the sum of the saved T_i", "equal", text("2.2, equation (4)"), _DEFINED).exact_verdict(
            error < _EXACT,
            _EQUAL,
            f"at most {error:.2g}",
        ),
        Statement(
            "the work of each reservation ends at its milestone", "t_k", figure("4", "its caption"), _DRAWN
        ).exact_verdict(
            reached,
            "holds if the progress at the end of each reservation is its milestone",
            f"ends {', '.join(f'{value:g}' for value in done)}; milestones {', '.join(f'{t:g}' for t in milestones)}",
        ),
    ]


def _first_checkpoint(rows: Sequence[Row]) -> int:
    """Index of the first checkpointed reservation; the last index if there is none."""
    return next((place for place, row in enumerate(rows) if row["checkpointed"]), len(rows) - 1)


def draw_parts(axes: Axes, rows: Sequence[Row], place: float, *, label_reservations: bool = True) -> None:
    """Draw a sequence as a bar of coloured parts over elapsed time, at a given height."""
    from holdfast.experiments.figures.style import INK

    for row in rows:
        axes.barh(
            place, row["end"] - row["start"], 0.62, row["start"], color=PART_COLORS[row["part"]], edgecolor="white",
            linewidth=0.4,
        )  # fmt: skip
    for number in sorted({row["reservation"] for row in rows}):
        own = [row for row in rows if row["reservation"] == number]
        start, end = own[0]["start"], own[-1]["end"]
        axes.plot([start, start, end, end], [place + 0.31, place - 0.31, place - 0.31, place + 0.31], color=INK, lw=0.7)
        if label_reservations:
            axes.text((start + end) / 2, place, f"$W_{{{number}}}$", ha="center", va="center", fontsize=7, color=INK)


def _draw_reservations(tables: Tables) -> Figure:
    from matplotlib.patches import Patch

    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import FONT, dress, legend_above

    rows = tables[""]
    figure = new_figure(PAGE, 1.5)
    axes = subplots(figure)
    draw_parts(axes, rows, 0.0)
    names = {"restart": "R", "work": "T", "checkpoint": "C"}
    for row in rows:
        symbol = names[row["part"]] + (f"_{{{row['reservation']}}}")
        axes.text((row["start"] + row["end"]) / 2, 0.38, f"${symbol}$", ha="center", va="top", fontsize=FONT["note"])
    axes.set_ylim(0.75, -0.45)
    axes.set_xlim(0, rows[-1]["end"] * 1.01)
    axes.set_yticks([])
    dress(axes, x="elapsed time", grid="none")
    axes.spines["left"].set_visible(False)
    legend_above(figure, [Patch(color=color) for color in PART_COLORS.values()], list(PART_COLORS))
    return figure


def _draw_progress(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import FONT, INK, dress

    rows = tables[""]
    figure = new_figure(PAGE * 0.75, 3.2)
    axes = subplots(figure)
    line = progress(rows)
    axes.plot([x for x, _ in line], [y for _, y in line], color="#777777", linewidth=0.8, linestyle=":")
    for row in rows:
        axes.plot(
            [row["start"], row["end"]], [row["from_work"], row["to_work"]], color=PART_COLORS[row["part"]]
            if row["part"] != "work" else "#0072B2", linewidth=2.0, label=row["part"],
        )  # fmt: skip
    ends = [(row["reservation"], row["end"], row["to_work"]) for row in rows if row["part"] == "work"]
    for number, at, done in ends:
        axes.plot([0, at], [done, done], color=INK, linewidth=0.5, linestyle="--")
        start = min(row["from_work"] for row in rows if row["reservation"] == number)
        axes.annotate("", (at, done), (at, start), arrowprops={"arrowstyle": "<->", "linewidth": 0.6, "color": INK})
        axes.text(at, (done + start) / 2, f" $T_{{{number}}}$", fontsize=FONT["tick"], color=INK)
    for number in sorted({row["reservation"] for row in rows})[1:]:
        axes.axvline(next(row["start"] for row in rows if row["reservation"] == number), color="#CCCCCC", linewidth=0.6)
    axes.set_xlim(0, rows[-1]["end"] * 1.06)
    axes.set_ylim(0, max(done for _, _, done in ends) * 1.06)
    axes.set_yticks([done for _, _, done in ends], [f"$t_{{{number}}}$" for number, _, _ in ends])
    dress(axes, x="elapsed time", y="job progress", grid="none")
    shown = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    axes.legend(shown.values(), shown.keys(), fontsize=FONT["legend"], frameon=False, loc="lower right")
    return figure


_CHOICES = ("The paper's sequence has no numbers; milestones, C and R are ours.",)

EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="checkpoint-fig3",
        title="Elapsed time of a sequence of reservations",
        question="What is a reservation made of?",
        parameters=AnatomyParameters(),
        quick=AnatomyParameters(),
        measure=_measure,
        judge=_judge_reservations,
        draw=_draw_reservations,
        choices=_CHOICES,
    ),
    Experiment(
        id="checkpoint-fig4",
        title="Job progress over a sequence of reservations",
        question="How much work is done after each reservation?",
        parameters=AnatomyParameters(),
        quick=AnatomyParameters(),
        measure=_measure,
        judge=_judge_progress,
        draw=_draw_progress,
        choices=_CHOICES,
    ),
)

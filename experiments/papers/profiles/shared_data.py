"""Inputs, verdict restrictions and colours that the experiments of the profiles paper share.

[P] is Gainaru, Goglin, Honore, Pallez, "Profiles of upcoming HPC Applications and their Impact on Reservation
Strategies", Inria RR-9359. Its runs have no licence and are therefore read from a path that the user gives. Without a
path, runs drawn from its Table 2 replace them; results from drawn runs are not comparable with the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.experiments.study.experiment import Row, Tables
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.verdicts import Outcome, Verdict
from holdfast.workloads.chains.runs import Makespans, TaskRuns, read_slant_makespans, read_slant_tasks
from holdfast.workloads.chains.synthetic import makespans_like, slant_like
from holdfast.workloads.ground.random_streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "DATASET_COLORS",
    "STAND_IN",
    "TASK_COLORS",
    "TaskData",
    "data_row",
    "elsewhere",
    "makespans",
    "mark_figure",
    "restrict_verdict",
    "task_runs",
]

#: Okabe and Ito's colours, one for each task.
TASK_COLORS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7", "#882255")
DATASET_COLORS = {"OASIS": "#0072B2", "DRD": "#D55E00"}
STAND_IN = "runs drawn from the paper's tables stand in for the measured ones"


@dataclass(frozen=True)
class TaskData:
    """Parameters of an experiment on the tasks of SLANT.

    Attributes
    ----------
    tasks
        CSV file of measured runs (:func:`holdfast.workloads.chains.runs.read_slant_tasks`); empty: runs drawn from
        Table 2.
    runs
        Number of drawn runs.
    """

    tasks: str = data_file("slant/slant_drd_tasks.csv")
    runs: int = 88


def task_runs(path: str, runs: int, seed: int) -> TaskRuns:
    """Measured runs from a file, or ``runs`` drawn runs without a path."""
    return read_slant_tasks(path) if path else slant_like(runs, stream(seed, "profiles", "slant"))


def makespans(path: str, seed: int, repetitions: int = 1) -> Makespans:
    """Measured walltimes from a file, or drawn walltimes without a path."""
    return read_slant_makespans(path) if path else makespans_like(stream(seed, "profiles", "makespans"), repetitions)


def data_row(measured: bool, runs: int, why: str = "") -> dict[str, Sequence[Row]]:
    """The table ``data``: whether the runs were measured, their number, and the reason if they were drawn."""
    return {"data": [{"measured": int(measured), "runs": runs, "why": "" if measured else why or STAND_IN}]}


def restrict_verdict(tables: Tables, verdict: Verdict) -> Verdict:
    """Mark a verdict as not comparable if the runs were not measured; the remark keeps its outcome."""
    data = tables["data"][0]
    return verdict if data["measured"] else elsewhere(verdict, data["why"])


def elsewhere(verdict: Verdict, why: str) -> Verdict:
    """Mark a verdict as not comparable because its data are not those of the paper; the remark keeps its outcome."""
    if verdict.outcome is Outcome.NOT_COMPARABLE:
        return replace(verdict, remark="; ".join(part for part in (why, verdict.remark) if part))
    there = {Outcome.HOLDS: "there it holds", Outcome.FAILS: "there it does not hold"}
    remarks = [why, there.get(verdict.outcome, "there it is undecided"), *([verdict.remark] if verdict.remark else [])]
    return replace(verdict, outcome=Outcome.NOT_COMPARABLE, remark="; ".join(remarks), p_value=None)


def mark_figure(figure: Figure, tables: Tables, note: str = "runs drawn from the paper's tables") -> Figure:
    """Add a note in the corner of a figure if the runs were not measured."""
    if not tables["data"][0]["measured"]:
        # A figure label has reserved space in the layout, below the axes.
        figure.supxlabel(note, x=0.995, ha="right", fontsize=5.5, color="#777777")
    return figure

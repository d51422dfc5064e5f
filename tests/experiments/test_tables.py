"""Tables: what stands in a terminal and in a CSV file, to the letter."""

from __future__ import annotations

import csv
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments.recordings.summaries import comparison
from holdfast.experiments.tables import render, render_parts, write_csv
from holdfast.experiments.traces.description import describe_reading
from holdfast.simulator.results.catalogue import SUMMARY_COLUMNS
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.errors import OutputError
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.job import JobType

COMPARISON = """\
           ------ wait ------  bounded   --------- turnaround ---------  instant  preempted     util. until
mechanism  mean  p99  longest  slowdown      all  rigid  mall.  on-dem.    start  rigid  mall.  last submit   lost
            min  min      min                  h      h      h        h        %      %      %            %    kNh
---------  ----  ---  -------  --------  -------  -----  -----  -------  -------  -----  -----  -----------  -----
baseline    7.5  7.5      7.5      0.12     15.6    0.1      -      0.1     12.5   12.5   12.5         12.5  123.5
CUA-SPAA    7.5  7.5      7.5      0.12  1,022.0    0.1    0.1      0.1     12.5   12.5   12.5         12.5  123.5
kNh: 1,000 node-hours
"""


def summary(mechanism: str, **changes: float) -> dict[str, Any]:
    """A row of a summary table with recognisable numbers."""
    values: dict[str, Any] = dict.fromkeys(SUMMARY_COLUMNS, 0.125) | {"jobs": 7, "starved": 0, "turnaround_h": 15.64}
    return values | {"lost_node_hours": 123456.0} | changes | {"mechanism": mechanism}


def test_comparison_is_aligned_and_fits_a_terminal() -> None:
    rows = [summary("baseline", turnaround_malleable_h=math.nan), summary("CUA-SPAA", turnaround_h=1022.04)]
    text = comparison(rows)
    assert f"{text}\n" == COMPARISON
    assert max(map(len, text.splitlines())) <= 120
    assert comparison(rows, verbose=True).splitlines()[1].endswith("lost  decision  engine")


@pytest.mark.parametrize("width", [10, 40, 100, 150])
def test_a_table_that_is_too_wide_continues_below(width: int) -> None:
    names = [f"{letter:{letter}<{width}}" for letter in "abcdef"]
    rows = [{"key": f"k{number}", **dict.fromkeys(names, number)} for number in range(2)]
    parts = render_parts(rows, ["key"], names).split("\n\n")
    heads = [part.split("\n")[0].split() for part in parts]
    assert [head[0] for head in heads] == ["key"] * len(parts)
    assert [name for head in heads for name in head[1:]] == names
    assert all(len(line) <= 120 for part in parts for line in part.split("\n")) or width > 120
    # No column of a part would have fitted into the one above.
    assert all(len("  ".join([*above, below[1]])) > 120 for above, below in pairwise(heads))


def test_comparison_leaves_out_columns_without_values_and_types_that_are_all_jobs() -> None:
    alone = summary("baseline", turnaround_rigid_h=15.64, turnaround_on_demand_h=math.nan, lost_node_hours=math.nan)
    head = comparison([alone]).splitlines()[1].split()
    assert head[6] == "mall."
    assert head[:6] == ["mechanism", "mean", "p99", "longest", "slowdown", "all"]
    assert "on-dem." not in head
    assert "lost" not in head
    several = comparison([alone, summary("N-PAA")]).splitlines()[1].split()
    assert several[6:9] == ["rigid", "mall.", "on-dem."]


def test_starvation_is_named_where_there_is_any() -> None:
    rows = [summary("fcfs"), summary("sjf", starved=1), summary("unknown", starved=math.nan)]
    assert comparison(rows).splitlines()[-1] == (
        "starved: 1 job of sjf started more than a week after the first start of a later job"
    )
    assert "starved" not in comparison([rows[0], rows[2]])
    many = [summary(f"a run with a rather long name {k}", starved=1234 * k) for k in range(9)]
    lines = comparison(many).splitlines()[-4:]
    assert max(map(len, lines)) <= 120
    assert "9,872 jobs of a run with a rather long name 8 started" in " ".join(line.strip() for line in lines)


def test_numbers_have_sensible_digits() -> None:
    values = [0, 12345, 0.0, 0.012345, 3.0, 12345.6, math.nan, math.inf, None, np.float64(2.5), np.int64(1000)]
    rows = [{"value": value} for value in values]
    cells = [line.strip() for line in render(rows, ["value"]).splitlines()[2:]]
    assert cells == ["0", "12,345", "0", "0.0123", "3.00", "12,346", "-", "inf", "-", "2.50", "1,000"]


def test_texts_stand_left_and_numbers_right() -> None:
    rows: list[dict[str, Any]] = [{"type": JobType.RIGID, "n": 1}, {"type": JobType.ON_DEMAND, "n": 10}, {"n": 100}]
    assert render(rows, ["type", Quantity("n", "count")]).splitlines() == [
        "type       count",
        "---------  -----",
        "rigid          1",
        "on-demand     10",
        "-            100",
    ]


def test_a_table_without_rows_has_a_head() -> None:
    assert render([], ["a", "b"]) == "a  b\n-  -"


def test_a_wide_group_widens_its_last_column() -> None:
    columns = [Quantity("a", group="a long group"), Quantity("b", group="a long group"), Quantity("c")]
    assert render([{"a": 1, "b": 2, "c": 3}], columns).splitlines() == [
        "a long group",
        "a          b  c",
        "-  ---------  -",
        "1          2  3",
    ]


def test_left_out_counts_by_reason() -> None:
    jobs = (TraceJob(1, 0.0, 1, 60.0, 60.0), TraceJob(2, 0.0, 1, 60.0, 60.0))
    trace = Trace(jobs, nodes=4392, excluded={"no runtime": 1000, "no size": 2}, remarks={"unsorted": 3, "twice": 0})
    assert (
        describe_reading(trace)
        == "2 jobs on 4,392 nodes; left out: 1,002 (1,000 no runtime, 2 no size)\nnoted: 3 unsorted"
    )
    assert describe_reading(Trace(jobs)) == "2 jobs"


def test_csv_is_exact_and_the_same_twice(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "x": 0.1, "type": JobType.ON_DEMAND, "flag": True, "unused": "x"},
        {"id": np.int64(2), "x": math.nan, "type": 'a "b", c', "flag": None},
        {"id": 3, "x": np.float64(1) / 3, "type": "\u00e9", "flag": np.bool_(False)},
        {"id": 4, "x": 1e22, "type": "", "flag": -math.inf},
    ]
    columns = ("id", "type", "x", "flag")
    for name in ("one.csv", "two.csv"):
        write_csv(tmp_path / name, iter(rows), columns)
    golden = (
        'id,type,x,flag\n1,on-demand,0.1,1\n2,"a ""b"", c",,\n3,\u00e9,0.3333333333333333,0\n4,,1e+22,-inf\n'
    ).encode()
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes() == golden
    with (tmp_path / "one.csv").open(encoding="utf-8", newline="") as file:
        assert float(list(csv.DictReader(file))[2]["x"]) == 1 / 3


def test_csv_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    write_csv(target, [{"a": 1}], ["a"])
    with pytest.raises(KeyError):
        write_csv(target, [{"a": 2}, {"b": 3}], ["a"])
    assert target.read_text() == "a\n1\n"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(OutputError, match="not a directory"):
        write_csv(tmp_path / "missing" / "table.csv", [], ["a"])

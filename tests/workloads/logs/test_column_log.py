"""Tables with named columns: what a row of PM100, of F-DATA and of any other site means, and what is refused."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from holdfast.workloads.ground.errors import HoldfastError, ParameterError, TraceError, UnknownNameError
from holdfast.workloads.logs.column_log import parse_columns
from holdfast.workloads.logs.column_roles import LAYOUTS, Role, find_layout, parse_roles
from holdfast.workloads.logs.readers import read_trace, read_workload
from holdfast.workloads.logs.swf import read_swf, write_swf
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.job_table import JobTable, write_job_table
from tests.support.jobs import rigid

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

FIRST = datetime(2020, 5, 1, 8, tzinfo=UTC)
T = FIRST.timestamp()


def at(minutes: float) -> datetime:
    return FIRST + timedelta(minutes=minutes)


def parquet(columns: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def pm100(**changes: Any) -> bytes:
    """Three jobs as Marconi100 records them, among columns that nothing needs."""
    columns: dict[str, Any] = {
        "cores_alloc_layout": ["{}"] * 3,
        "job_id": [11, 12, 13],
        "submit_time": pa.array([at(0), at(1), at(2)], pa.timestamp("ns", "UTC")),
        "start_time": pa.array([at(1), at(10), at(20)], pa.timestamp("ns", "UTC")),
        "end_time": pa.array([at(61), at(40), at(80)], pa.timestamp("ns", "UTC")),
        "run_time": [3600, 1800, 3600],
        "time_limit": [120, 30, 60],
        "num_nodes_alloc": [4, 1, 2],
        "num_cores_alloc": [512, 128, 256],
        "user_id": [5, 5, 6],
        "group_id": [1, 1, 2],
        "partition": ["1", "1", "2"],
        "job_state": ["COMPLETED", "TIMEOUT", "FAILED"],
        "node_power_consumption": [[1.0, 2.0], [3.0], []],
    }
    return parquet({name: value for name, value in (columns | changes).items() if value is not None})


def fdata(**changes: Any) -> bytes:
    """Two jobs as Fugaku records them."""
    columns: dict[str, Any] = {
        "jid": ["a1", "b2"],
        "usr": ["u1", "u2"],
        "jnam": ["x", "y"],
        "cnumr": [192, 48],
        "nnumr": [4, 1],
        "adt": pa.array([at(0), at(3)], pa.timestamp("us", "Asia/Tokyo")),
        "sdt": pa.array([at(2), at(5)], pa.timestamp("us", "Asia/Tokyo")),
        "edt": pa.array([at(32), at(65)], pa.timestamp("us", "Asia/Tokyo")),
        "elpl": [7200, 3600],
        "duration": [1800, 3600],
        "exit state": ["completed", "failed"],
        "embedding": [[0.5] * 8, [0.25] * 8],
    }
    return parquet({name: value for name, value in (columns | changes).items() if value is not None})


def write_bytes_to(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


PM100_JOBS = (
    TraceJob(11, T, 4, 3600.0, 7200.0, False, 60.0, "5", "1", partition="1"),
    TraceJob(12, T + 60, 1, 1800.0, 1800.0, True, 540.0, "5", "1", partition="1"),
    TraceJob(13, T + 120, 2, 3600.0, 3600.0, False, 1080.0, "6", "2", partition="2"),
)


def test_pm100_is_recognised_with_its_limits_in_minutes(tmp_path: Path) -> None:
    trace = read_trace(write_bytes_to(tmp_path / "job_table.parquet", pm100()))
    assert trace.jobs == PM100_JOBS
    assert [job.partition for job in trace.jobs] == ["1", "1", "2"]
    assert (trace.format, trace.nodes, trace.unit, trace.header) == ("columns", None, "nodes", {"Unit": "nodes"})
    assert trace.remarks == {"state TIMEOUT": 1, "state FAILED": 1}
    assert trace.excluded == {}


def test_f_data_is_recognised_with_its_zone_and_ids_that_are_no_numbers(tmp_path: Path) -> None:
    trace = read_trace(write_bytes_to(tmp_path / "21_04.parquet", fdata()))
    assert trace.jobs == (
        TraceJob(1, T, 4, 1800.0, 7200.0, False, 120.0, "u1"),
        TraceJob(2, T + 180, 1, 3600.0, 3600.0, False, 120.0, "u2"),
    )
    assert trace.remarks == {"id is not a number (the row number is used)": 2, "state FAILED": 1}


def test_the_same_jobs_by_a_mapping_a_layout_and_as_csv(tmp_path: Path) -> None:
    names = "id=job_id,submit=submit_time,start=start_time,end=end_time,walltime=time_limit:min,nodes=num_nodes_alloc"
    path = write_bytes_to(tmp_path / "a.parquet", pm100())
    own = read_trace(path, columns=names)
    assert [(job.submit, job.nodes, job.runtime, job.walltime, job.user) for job in own.jobs] == [
        (job.submit, job.nodes, job.runtime, job.walltime, "") for job in PM100_JOBS
    ]
    assert read_trace(path, columns=dict(part.split("=") for part in names.split(","))).jobs == own.jobs
    assert read_trace(path, columns="pm100").jobs == PM100_JOBS
    cells = pq.read_table(path, columns=["job_id", "submit_time", "start_time", "end_time", "time_limit",
                                         "num_nodes_alloc"]).to_pylist()  # fmt: skip
    lines = [",".join(cells[0]), *(",".join(map(str, row.values())) for row in cells)]
    text = write_bytes_to(tmp_path / "a.csv", "\n".join(lines).encode())
    assert read_trace(text, columns=names).jobs == own.jobs
    # A header row of a known layout is recognised, too.
    assert read_trace(text).jobs == own.jobs


def one(columns: str, **cells: Any) -> TraceJob:
    """A row, of which the columns are named."""
    return parse_columns(parquet({name: [value] for name, value in cells.items()}), "t", columns=columns).jobs[0]


@pytest.mark.parametrize(
    ("unit", "factor"), [("", 1.0), (":s", 1.0), (":ms", 1e-3), (":min", 60.0), (":h", 3600.0), (":d", 86400.0)]
)
def test_units_of_durations(unit: str, factor: float) -> None:
    job = one(f"submit=t,nodes=n,runtime=r{unit},walltime=w{unit}", t=0, n=1, r=1000, w=2000.0)
    assert (job.runtime, job.walltime) == pytest.approx((1000 * factor, 2000 * factor))


@pytest.mark.parametrize(
    "given",
    [
        FIRST,
        FIRST.replace(tzinfo=None),
        FIRST.astimezone(timezone(timedelta(hours=9))),
        FIRST.isoformat(),
        "2020-05-01 08:00:00",
        T,
        int(T),
        str(int(T)),
    ],
)
def test_times_are_dates_with_and_without_a_zone_and_numbers(given: Any) -> None:
    assert one("submit=t,nodes=n,runtime=r", t=given, n=1, r=5).submit == T
    assert one("submit=t:ms,nodes=n,runtime=r", t=1000 * int(T), n=1, r=5).submit == T


@pytest.mark.parametrize(
    "given",
    [5400, 5400.0, "5400", "01:30:00", "90:00", timedelta(minutes=90), pa.scalar(5400_000_000_000, pa.duration("ns"))],
)
def test_durations_are_numbers_times_of_day_and_differences(given: Any) -> None:
    column = pa.array([given.as_py()], given.type) if isinstance(given, pa.Scalar) else [given]
    data = parquet({"t": [0], "n": [1], "r": column})
    assert parse_columns(data, "t", columns="submit=t,nodes=n,runtime=r").jobs[0].runtime == 5400.0


@pytest.mark.parametrize("limit", [None, float("nan"), "UNLIMITED", 4294967295, ""])
def test_a_limit_that_is_none_is_the_runtime(limit: Any) -> None:
    assert one("submit=t,nodes=n,runtime=r,walltime=w", t=0, n=1, r=5, w=limit).walltime == 5.0


def test_what_never_started_and_never_ended_is_left_out() -> None:
    start = pa.array([at(1), None, at(20)], pa.timestamp("ns", "UTC"))
    end = pa.array([None, None, at(80)], pa.timestamp("ns", "UTC"))
    trace = parse_columns(pm100(start_time=start, end_time=end, run_time=None), "t")
    assert [job.job_id for job in trace.jobs] == [13]
    assert trace.excluded == {"not ended": 1, "never started": 1}


def test_processors_and_nodes() -> None:
    assert [job.nodes for job in parse_columns(pm100(), "t", choice=_choice(unit="cores")).jobs] == [512, 128, 256]
    names = "submit=submit_time,runtime=run_time,processors=num_cores_alloc"
    assert parse_columns(pm100(), "t", columns=names).unit == "processors"
    on_nodes = parse_columns(pm100(), "t", columns=names, procs_per_node=100)
    assert ([job.nodes for job in on_nodes.jobs], on_nodes.unit) == ([6, 2, 3], "nodes")


def _choice(where: Any = None, unit: str | None = None) -> Any:
    from holdfast.workloads.logs.filters import Choice

    return Choice.of(where, unit)


def test_jobs_are_chosen_by_roles_and_by_columns() -> None:
    for where in ("partition=2", "project=2", "user=6", "job_state=FAILED", "state=failed", "queue=2"):
        trace = parse_columns(pm100(), "t", choice=_choice(where))
        assert [job.job_id for job in trace.jobs] == [13], where
        assert trace.header["Where"] == where
    with pytest.raises(TraceError, match="there is no column colour to select by"):
        parse_columns(pm100(), "t", choice=_choice("colour=red"))


def test_a_job_table_in_parquet_stays_one(tmp_path: Path) -> None:
    write_job_table([rigid(1, 0.0, 4, 60.0, 60.0)], tmp_path / "t.parquet")
    assert isinstance(read_workload(tmp_path / "t.parquet"), JobTable)
    with pytest.raises(ParameterError, match="columns must be left out with the format job-table"):
        read_workload(tmp_path / "t.parquet", format="job-table", columns="pm100")


def test_as_swf_and_back(tmp_path: Path) -> None:
    trace = parse_columns(pm100(), "t")
    write_swf(trace, tmp_path / "t.swf")
    again = read_swf(tmp_path / "t.swf")
    assert isinstance(again, Trace)
    assert again.jobs == trace.jobs


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("", "roles and columns, such as submit=submit_time"),
        ("pm1000", "roles and columns"),
        ("submit=", "roles and columns"),
        ("submit=t,submit=u,nodes=n,runtime=r", "each role once"),
        ("submit=t,nodes=n", "names a column for runtime, or for start and end, not"),
        ("submit=t,nodes=n,start=r", "names a column for runtime, or for start and end, not"),
        ("nodes=n,runtime=r", "names a column for submit, not"),
        ("submit=t,runtime=r", "names a column for nodes or processors, not"),
        ("submit=t,nodes=n,runtime=r,tasks=n", "without tasks, which is for a machine"),
        ("submit=t,nodes=n:min,runtime=r", "no unit for nodes, which is no time"),
        ("submit=t,nodes=n,runtime=r,colour=c", "unknown role of a column 'colour'"),
        ("submit=t,nodes=n,runtime=q", r"t: there is no column q \(runtime\); the columns are t, n, r"),
        (None, "the columns are those of neither pm100 nor f-data; name them with --columns"),
    ],
)
def test_a_wrong_mapping_is_one_sentence(columns: str | None, words: str) -> None:
    data = parquet({"t": [0], "n": [1], "r": [5]})
    with pytest.raises(HoldfastError, match=words) as refused:
        parse_columns(data, "t", columns=columns)
    assert "\n" not in str(refused.value)


def test_a_broken_row_is_named_and_may_be_passed_over(tmp_path: Path) -> None:
    names = "submit=t,nodes=n,runtime=r"
    data = parquet({"t": ["0", "soon", "9"], "n": [1, 1, 1], "r": [5, 5, 5]})
    with pytest.raises(TraceError, match=r"^t: row 2: submit must be a time such as .*, not 'soon'$"):
        parse_columns(data, "t", columns=names)
    assert parse_columns(data, "t", columns=names, lenient=True).excluded == {"broken line": 1}
    text = b"t,n,r\n0,1,5\n0,one,5\n"
    with pytest.raises(TraceError, match=r"^t:3: the number of nodes must be a whole number, not 'one'$"):
        parse_columns(text, "t", columns=names)
    with pytest.raises(TraceError, match=r"t:2: a row must have 3 fields like the header, not 2"):
        parse_columns(b"t,n,r\n0,1\n", "t", columns=names)
    with pytest.raises(TraceError, match="is a damaged Parquet file"):
        parse_columns(pm100()[:-30], "t", columns=names)


def test_layouts_name_what_a_trace_needs() -> None:
    assert find_layout(["submit", "nodes"]) is None
    for name in LAYOUTS:
        roles = parse_roles(name)
        assert {"submit", "start", "end", "nodes", "walltime", "user"} <= set(roles)
        assert find_layout([role.column.upper() for role in roles.values()]) == name
    assert parse_roles("pm100")["walltime"] == Role("time_limit", 60.0)
    assert parse_roles("f-data")["walltime"] == Role("elpl", 1.0)
    with pytest.raises(UnknownNameError):
        parse_roles({"colour": "c"})

"""Job types that a log records: in a column of types, or by QOS."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.simulator.simulation import simulate
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.hybrid.assignment import Assignment, assign
from holdfast.workloads.hybrid.recorded_types import has_recorded_types, parse_type_rule
from holdfast.workloads.hybrid.type_balance import imbalance
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.job import JobType

_COLUMNS = "id=id,submit=at,nodes=nodes,runtime=runs,walltime=limit,type=class,qos=qos"


def _trace(tmp_path: Path, *rows: str) -> Trace:
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(["id,at,nodes,runs,limit,class,qos", *rows]) + "\n")
    return read_trace(path, columns=_COLUMNS).on_machine(8)


def _by_qos(*names: str) -> Trace:
    return Trace([TraceJob(i, 100.0 * i, 4, 90.0, 100.0, qos=name, user="u") for i, name in enumerate(names)], nodes=8)


def test_a_column_says_the_types(tmp_path: Path) -> None:
    trace = _trace(tmp_path, "1,0,8,4000,7200,Spot,", "2,5,1,10,20,on_demand,", "3,6,5,10,20,malleable,", "4,7,8,9,9,,")
    assert has_recorded_types(trace)
    table = list(assign(trace, seed=5))
    assert [job.type for job in table] == [JobType.RIGID, JobType.ON_DEMAND, JobType.MALLEABLE, JobType.RIGID]
    assert [job.checkpoint_interval is None for job in table] == [True, True, True, False]
    assert [job.submit for job in table] == [0.0, 5.0, 6.0, 7.0]
    assert table[1].notice is None
    assert table[0].setup == 0.0 < table[3].setup
    assert table[2].min_nodes == 1


def test_a_rule_says_the_types_of_a_qos() -> None:
    table = list(assign(_by_qos("high", "low", "normal"), types="qos:high=on-demand,low=preemptible"))
    assert [job.type for job in table] == [JobType.ON_DEMAND, JobType.RIGID, JobType.RIGID]
    assert [job.checkpoint_interval is None for job in table] == [True, True, False]


def test_recorded_arrivals_stay_and_another_mix_gives_notices() -> None:
    trace = _by_qos(*["high"] * 40)
    plain = assign(trace, types="qos:high=on-demand")
    assert [job.submit for job in plain] == [100.0 * i for i in range(40)]
    accurate = list(assign(trace, types="qos:high=on-demand", notice_mix=(0.0, 1.0, 0.0, 0.0)))
    assert [job.submit for job in accurate] == [job.submit for job in plain]
    assert all(job.estimated_arrival == job.submit for job in accurate)


def test_a_spot_job_starts_anew_after_a_high_priority_job() -> None:
    """Worked out by hand: the urgent job takes 2 of 8 nodes from 500 to 1100; the spot job then runs its 4,000 s."""
    jobs = [TraceJob(1, 0.0, 8, 4000.0, 7200.0, qos="low"), TraceJob(2, 500.0, 2, 600.0, 900.0, qos="high")]
    table = assign(Trace(jobs, nodes=8), types="qos:low=spot,high=on-demand")
    spot, urgent = simulate(table, 8, "N-PAA").jobs[["start", "end", "preemptions"]].values.tolist()
    assert urgent == [500.0, 1100.0, 0]
    assert spot == [0.0, 5100.0, 1]


def test_what_is_no_rule_is_refused() -> None:
    for text in ("colour:red=spot", "qos:", "qos:high", "qos:=spot", "qos:a=spot,a=rigid"):
        with pytest.raises(ParameterError, match="types must be"):
            parse_type_rule(text)
    with pytest.raises(UnknownNameError, match="on-demand"):
        parse_type_rule("qos:high=urgent")
    with pytest.raises(ParameterError, match="values that jobs of the log have for qos"):
        assign(_by_qos("high"), types="qos:hihg=on-demand")
    with pytest.raises(ParameterError, match=r"a column that the log has \(qos, user\)"):
        assign(_by_qos("high"), types="partition:p=on-demand")
    with pytest.raises(InputError, match="type:high=on-demand"):
        assign(Trace([TraceJob(1, 0.0, 1, 1.0, 1.0, job_class="high")], nodes=1))


def test_a_log_without_urgent_jobs_is_pointed_out() -> None:
    trace = _by_qos("low", "low")
    rule = "qos:low=spot"
    warning = imbalance(trace, assign(trace, types=rule), Assignment(types=rule))
    assert warning == "the log records no on-demand job: the mechanisms have nothing to decide"

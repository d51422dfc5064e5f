"""The public interface: its names resolve, nothing is imported early, and other packages of our names are told."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import pytest

import holdfast as hf
from holdfast import interface
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job_table import JobTable
from tests.places import PACKAGES, ROOT

#: Pages whose Python a newcomer copies; rooms may move behind it.
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs" / "tutorials").glob("*.md"), *(ROOT / "docs" / "guides").glob("*.md")]
)


def python(code: str, *, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with another folder before ours on the path."""
    places = os.pathsep.join(str(place) for place in (path, ROOT) if place is not None)
    environment = {**os.environ, "PYTHONPATH": places}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd="/")


def test_type_checkers_see_the_names_that_are_imported_late() -> None:
    tree = ast.parse((ROOT / "holdfast" / "interface.py").read_text())
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    block = next(node for node in blocks if ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {}
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            seen |= {alias.asname: f"{node.module}:{alias.name}" for alias in node.names if alias.asname}
        elif isinstance(node, ast.Import):
            seen |= {alias.asname: alias.name for alias in node.names if alias.asname != "pd"}
    assert seen == interface._LAZY


@pytest.mark.parametrize("name", hf.__all__)
def test_every_name_resolves(name: str) -> None:
    assert getattr(hf, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'simulat'"):
        _ = hf.simulat  # type: ignore[attr-defined]


def test_nothing_is_imported_before_it_is_used() -> None:
    heavy = "numpy", "pandas", "scipy", "matplotlib", "simpy", "simulator", "workloads"
    shown = python(f"import sys, holdfast; print([name for name in {heavy!r} if name in sys.modules])")
    assert shown.stdout == "[]\n"


def test_a_trace_is_simulated_as_it_is() -> None:
    trace = hf.generate(jobs=120, seed=3)
    result = hf.simulate(trace, order="sjf")
    assert result.records == simulate(hf.as_rigid(trace), trace.nodes, order="sjf").records
    jobs = hf.prepare(trace, seed=3)
    hybrid = hf.simulate(JobTable(jobs), nodes=trace.nodes, mechanism="N-PAA")
    assert hybrid.records == simulate(jobs, trace.nodes, "N-PAA").records


def test_a_job_table_needs_a_machine() -> None:
    with pytest.raises(InputError, match=r"give nodes: this workload does not record"):
        hf.simulate(hf.prepare(hf.generate(jobs=20)))
    with pytest.raises(InputError, match="workload must be a trace, a job table, a DataFrame, or jobs, not 3"):
        hf.simulate(3, 4)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="workload must be what read_trace or read_job_table reads from a file, not"):
        hf.simulate("log.swf.gz")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"gets one as in holdfast.ORDERS.add\('mine', mine\), not <function"):
        hf.simulate(hf.generate(jobs=20), order=lambda job, now: job.nodes)


def test_a_dataframe_is_simulated_as_a_trace_or_a_job_table(tmp_path: Path) -> None:
    trace = hf.generate(jobs=120, seed=3)
    expected = hf.simulate(trace)
    frame = pd.DataFrame([asdict(job) for job in trace.jobs])
    assert hf.simulate(frame, trace.nodes).records == expected.records
    # Times of a calendar, and no more than there must be.
    least = frame[["submit", "nodes"]].assign(
        submit=pd.to_datetime(frame.submit, unit="s", utc=True), runtime=pd.to_timedelta(frame.runtime, unit="s")
    )
    exact = hf.simulate([replace(job, walltime=job.runtime) for job in expected.table], trace.nodes)
    assert [(job.start, job.end) for job in hf.simulate(least, trace.nodes).records] == [
        (job.start, job.end) for job in exact.records
    ]
    # What a result tells of its jobs is a workload again.
    assert hf.simulate(expected.jobs, trace.nodes).records == expected.records
    # A job table with all that may be missing.
    jobs = hf.prepare(trace, seed=3, no_show_share=0.5)
    hf.write_job_table(jobs, tmp_path / "jobs.csv")
    table = pd.read_csv(tmp_path / "jobs.csv")
    result = hf.simulate(table, trace.nodes, "CUA-SPAA")
    assert result.records == hf.simulate(jobs, trace.nodes, "CUA-SPAA").records
    long = pd.DataFrame({"submit": [0], "nodes": [1], "runtime": [90.0], "walltime": [60.0]})
    assert hf.simulate(long, 1).jobs.loc[0, ["end", "status"]].tolist() == [60.0, "killed"]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"submit": 0, "runtime": 1}, "of a trace must have the columns submit, nodes, runtime; it lacks nodes,"),
        ({"type": "rigid", "submit": 0}, "of a job table must have .*; it lacks job_id, nodes, runtime, walltime,"),
        ({"submit": 0, "nodes": 1, "runtime": 1, "waltime": 1}, "unknown column 'waltime': did you mean walltime"),
        ({"submit": 0, "nodes": 0, "runtime": 1}, "the DataFrame: row 1: "),
        ({"submit": 0, "nodes": 1, "runtime": "long"}, "the DataFrame: row 1: runtime"),
        ({"submit": 0, "nodes": 1.5, "runtime": 9}, "the DataFrame: row 1: nodes"),
        ({"submit": 0, "nodes": 1, "runtime": None}, "the DataFrame: row 1: runtime"),
    ],
)  # fmt: skip
def test_a_dataframe_that_is_no_workload_is_refused_in_a_sentence(columns: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as refused:
        hf.simulate(pd.DataFrame({name: [value] for name, value in columns.items()}), 4)
    assert "\n" not in str(refused.value)


def test_results_are_compared_by_label() -> None:
    trace = hf.generate(jobs=60, seed=2)
    results = {order: hf.simulate(trace, order=order) for order in ("fcfs", "sjf")}
    table = hf.compare(results, "wait_h", "utilization")
    assert list(table.index) == ["fcfs", "sjf"]
    assert list(table.columns) == ["wait_h", "utilization"]
    for order, result in results.items():
        assert table.loc[order, "wait_h"] == result.summary()["wait_h"]
    # Results without labels of their own have those of the options in which they differ.
    assert list(hf.compare(list(results.values())).index) == ["fcfs", "sjf"]
    with pytest.raises(InputError, match="two results are labelled 'baseline'"):
        hf.compare([results["sjf"], results["sjf"]])
    with pytest.raises(InputError, match="unknown metric 'wait': did you mean"):
        hf.compare(results, "wait")


def test_parameters_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InputError, match="unknown parameter 'node': did you mean nodes"):
        hf.generate(node=3)
    with pytest.raises(InputError, match="either a configuration file or its tables"):
        hf.sweep("out", "sweep.toml", mechanisms="all")


def test_a_plan_of_fitted_runs() -> None:
    runs = [1.0, 2.0, 2.0, 3.0, 8.0]
    distribution = hf.fit(runs, "discrete")
    plan = hf.plan(distribution, checkpoint=0.1, restart=0.1)
    assert plan.length.tolist() == hf.plan(runs, checkpoint=0.1, restart=0.1).length.tolist()
    assert hf.plan(runs, "maximum").length.tolist() == [8.0]
    # Without the time of a checkpoint there are none.
    assert hf.plan(runs) == hf.plan(runs, "no-ckpt", checkpoint=0.0)
    assert hf.plan(runs, checkpoint=0.0).checkpointed.sum() == 3
    with pytest.raises(InputError, match="the strategy all-ckpt writes checkpoints: give the time"):
        hf.plan(runs, "all-ckpt")


def test_timedeltas_are_runtimes_in_seconds() -> None:
    """The difference of two columns of dates has a unit of its own, microseconds or nanoseconds."""
    ended = pd.Series(pd.to_datetime(["2026-01-01 02:00", "2026-01-01 03:00"]))
    runs = ended - pd.Timestamp("2026-01-01 01:00")
    assert hf.plan(runs, "maximum").length.tolist() == hf.plan([3600.0, 7200.0], "maximum").length.tolist() == [7200.0]
    assert hf.fit(runs, "discrete").upper == 7200.0
    with pytest.raises(InputError, match="must be a distribution, or one or more past runtimes"):
        hf.plan(ended)


def test_values_of_a_wrong_kind_are_one_sentence() -> None:
    frame = pd.DataFrame({"submit": [0, 1], "nodes": [2, 4], "runtime": [10, 10]})
    result = hf.simulate(frame, frame.nodes.max())
    assert result.nodes == 4
    for call, sentence in (
        (lambda: hf.prepare(frame), "trace must be a trace"),
        (lambda: hf.read_trace(frame), "path must be the name of a file"),
        (lambda: hf.whatif(frame, order="sjf"), "path must be the name of a file"),
        (lambda: hf.compare("a", "b"), "results must be simulated ones"),
        (lambda: result.summary(warmup="1h"), "warmup must be a duration"),
    ):
        with pytest.raises(InputError, match=sentence) as refused:
            call()
        assert len(str(refused.value).splitlines()) == 1


def test_packages_of_the_same_names_beside_a_script_do_no_harm(tmp_path: Path) -> None:
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise SystemExit('this is {name} of the user')")
    shown = python("import holdfast as hf; print(len(hf.simulate(hf.generate(jobs=5)).records))", path=tmp_path)
    assert shown.stdout == "5\n", shown.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_newcomers_import_nothing_deeper(page: Path) -> None:
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE):
        for node in ast.walk(ast.parse(block)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & set(PACKAGES), block


def test_a_trace_as_a_table_is_simulated_as_the_trace() -> None:
    trace = hf.generate(jobs=120, seed=3)
    table = trace.frame
    assert table["submit"].tolist() == [job.submit for job in trace.jobs]
    assert not {"wait", "eligible", "preceding"} & set(table)  # the generator records none
    assert hf.simulate(table, trace.nodes).records == hf.simulate(trace).records
    short = table[table["walltime"] <= 3600]
    assert 0 < len(hf.simulate(short, trace.nodes).records) == len(short) < len(table)


def test_completion_offers_the_public_names_and_nothing_else() -> None:
    from holdfast import simulator

    for package in (hf, hf.figures, hf.gym, simulator):
        assert dir(package) == sorted(package.__all__)


def _user_script(tmp_path: Path) -> str:
    """What a strict type checker says of a user's script: its types, and each line that it refuses."""
    script = tmp_path / "script.py"
    script.write_text(
        """\
import holdfast as hf

trace = hf.generate(jobs=10)
result = hf.simulate(trace, order="sjf")
reveal_type(trace)
reveal_type(trace.frame)
reveal_type(result)
reveal_type(result.jobs)
reveal_type(hf.plan([1.0, 2.0], checkpoint=0.1))
reveal_type(hf.figures.plot_gantt(result))
reveal_type(hf.compare([result]))
reveal_type(hf.compare(result, result))
hf.simulate(trace, nodes="many")
hf.simulat(trace)
hf.figures.plot_nothing()
"""
    )
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache" / "user"), str(script)]
    return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path).stdout


@pytest.mark.system
def test_a_type_checker_sees_the_types_of_a_users_script(tmp_path: Path) -> None:
    output = _user_script(tmp_path)
    revealed = re.findall(r'script.py:(\d+): note: Revealed type is "([\w.]+)', output)
    assert [(int(line), name.rpartition(".")[2]) for line, name in revealed] == [
        *((5, "Trace"), (6, "DataFrame"), (7, "Result"), (8, "DataFrame"), (9, "ReservationPlan"), (10, "Figure")),
        *((11, "DataFrame"), (12, "Gains")),
    ]
    refused = re.findall(r"script.py:(\d+): error: .*\[([\w-]+)\]", output)
    assert refused == [("13", "arg-type"), ("14", "attr-defined"), ("15", "attr-defined")]


def test_completion_of_a_result_offers_what_users_need() -> None:
    jobs = [hf.Job(1, hf.JobType.RIGID, 0.0, 2, 100.0, 100.0)]
    result = hf.simulate(jobs, nodes=4)
    names = [name for name in dir(result) if not name.startswith("_")]
    assert len(names) == 12
    assert all(hasattr(result, name) for name in names)

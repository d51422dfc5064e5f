"""The configuration of a sweep: what is refused, what is read, and which runs it makes."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments import cli
from holdfast.experiments.recordings.measurement import Measurement
from holdfast.experiments.sweeps import make_sweep, read_sweep, run_sweep
from holdfast.experiments.sweeps.configuration import Sweep, Workload
from holdfast.experiments.sweeps.fingerprint import MODEL
from holdfast.experiments.sweeps.grid import GeneratedYear, Log, expand
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.places import ROOT

# What is refused.

WORKLOAD = "[workload]\nseeds = 0\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("workload = 3", "workload must be a table, not 3"),
        ("", "workload is missing"),
        ("[workload]", "workload: give either seeds (of generated years) or traces"),
        ("[workload]\nseeds = 0\ntraces = ['a']", "workload: give either seeds (of generated years) or traces"),
        ("[workload]\nseeds = 0\nnodes = 10", "workload: nodes is only for traces"),
        ("[workload]\ntraces = 'a'\njobs = 10", "workload: jobs is only for seeds"),
        (
            "[workload]\nseeds = '3'",
            "workload.seeds must be a whole number of at least 0, a list of such, or a range such as \"0:10\", not '3'",
        ),
        ("[workload]\nseeds = '3:3'", "workload.seeds must be a whole number"),
        ("[workload]\nseeds = [0, -1]", "workload.seeds must be a whole number"),
        ("[workload]\nseeds = [true]", "workload.seeds must be a whole number"),
        ("[workload]\nseeds = []", "workload.seeds must be a value, or a list of at least one, not []"),
        ("[workload]\nseeds = 0\njobs = 0", "workload.jobs must be a whole number of at least 1, not 0"),
        (
            "[workload]\nseeds = 0\nseed = 0",
            "workload: unknown key 'seed': did you mean seeds? known are seeds, jobs, presets, traces, nodes, "
            "format, procs_per_node, where, unit, columns, lenient",
        ),
        ("[workload]\ntraces = [3]", "workload.traces[0] must be a table, not 3"),
        ("[workload]\ntraces = [{nodes = 3}]", "workload.traces[0].path is missing"),
        (
            "[workload]\ntraces = ['a', {path = 'b', node = 3}]",
            "workload.traces[1]: unknown key 'node': did you mean nodes? known are path, nodes, format,"
            " procs_per_node, where, unit, columns, lenient",
        ),
        ("[workload]\ntraces = [{path = 'a', directory = 'b'}]", "workload.traces[0]: unknown key 'directory'"),
        ("[workload]\ntraces = ['a']\nnodes = '10'", "workload.nodes must be a whole number of at least 1, not '10'"),
        (
            "[workload]\ntraces = ['a']\nformat = 'sfw'",
            "workload.format: unknown format 'sfw': did you mean swf? known are alcf, sacct, swf",
        ),
        ("[workload]\ntraces = ['a']\nwhere = 'batch'", "workload.where must be a column and its values, such as"),
        ("[workload]\ntraces = ['a']\nunit = 'racks'", "workload.unit must be nodes or processors (or cores), not"),
        (
            "[workload]\ntraces = ['a']\ncolumns = 'submit=t'",
            "workload.columns must be a mapping that names a column for nodes or processors",
        ),
        ("[workload]\nseeds = 0\ncolumns = 'pm100'", "columns is only for traces"),
        ("[workload]\ntraces = ['a']\nlenient = 1", "workload.lenient must be true or false, not 1"),
        ("mechanism = 'all'\n" + WORKLOAD, "unknown key 'mechanism': did you mean mechanisms"),
        ("mechanisms = 'CUB-PAA'\n" + WORKLOAD, "mechanisms: unknown mechanism 'CUB-PAA': did you mean"),
        ("mechanisms = []\n" + WORKLOAD, "mechanisms must be a value, or a list of at least one, not []"),
        ("mechanisms = [1]\n" + WORKLOAD, "mechanisms must be a text, not 1"),
        ("vary = 'all'\n" + WORKLOAD, "vary must be product or one-at-a-time, not 'all'"),
        (WORKLOAD + "[assignement]", "unknown key 'assignement': did you mean assignment?"),
        (WORKLOAD + "[assignment]\nmix = 'W1'", "assignment: unknown key 'mix': "),
        (WORKLOAD + "[assignment]\nnotice_mix = 'W6'", "assignment.notice_mix: unknown notice mix 'W6': did you mean"),
        (
            WORKLOAD + "[assignment]\nnotice_mix = [1, 0, 0]",
            "assignment.notice_mix must be one of W1, W2, W3, W4, W5 or four shares (none, accurate, "
            "early, late) of sum 1, not [1, 0, 0]",
        ),
        (
            WORKLOAD + "[assignment]\nnode_mtbf = ['5y', '5x']",
            "assignment.node_mtbf must be a duration such as 90s, 30m, 12h, 1h30m, 5y, 04:30:00, not '5x'",
        ),
        (WORKLOAD + "[assignment]\nnode_mtbf = 0", "assignment.node_mtbf must be positive and finite, not 0"),
        (
            WORKLOAD + "[assignment]\ncheckpoint_factor = '5y'",
            "assignment.checkpoint_factor must be a number, not '5y'",
        ),
        (WORKLOAD + "[assignment]\nshares = [0.5, 0.5]", "assignment.shares must be 3 numbers, not [0.5, 0.5]"),
        (
            WORKLOAD + "[assignment]\nshares = [0.5, 0.5, 0.5]",
            "assignment.shares must be three shares (on-demand, rigid, malleable) of sum 1, not [0.5, 0.5, 0.5]",
        ),
        (WORKLOAD + "[assignment]\nnotice_lead = ['30m', '15m']", "assignment.notice_lead must be two bounds with"),
        (
            WORKLOAD + "[assignment]\nno_show_share = nan",
            "assignment.no_show_share must be a share from 0 to 1, not nan",
        ),
        (WORKLOAD + "[assignment]\noverheads = true", "assignment.overheads must be a text, not true"),
        (WORKLOAD + "[assignment]\nseeds = 1.5", "assignment.seeds must be a whole number of at least 0"),
        (
            WORKLOAD + "[options]\ntenants = ['any', 'all']",
            "options.tenants: unknown tenants rule 'all': known are any, fits, none",
        ),
        (
            WORKLOAD + "[options]\nbackfill_length = 'both'",
            "options.backfill_length must be walltime or runtime, not 'both'",
        ),
        (
            WORKLOAD + "[options]\ntimeout = -1",
            "options.timeout must be a duration of at least 0, such as 90s, 12h or 5y, not -1",
        ),
        (
            WORKLOAD + "[measure]\ninstant_tolerance = 1e308",
            "measure.instant_tolerance must be a duration of at most 1,000,000,000,000 s, not 1e+308",
        ),
        (WORKLOAD + "[options]\nnodes = 4", "options: unknown key 'nodes': "),
        (WORKLOAD + "[options]\nseed = 0.5", "options.seed must be a whole number of at least 0, not 0.5"),
        (WORKLOAD + "[assignment]\nplan = ['masi', 'msai']", "assignment.plan: unknown "),
        (WORKLOAD + "[measure]\nwarmup = [0]", "measure.warmup must be a number, not [0]"),
        (
            WORKLOAD + "[measure]\nwarm_up = 0",
            "measure: unknown key 'warm_up': did you mean warmup? known are instant_tolerance, warmup, cooldown",
        ),
        ("[workload]\nseeds = 0 1", "is not TOML: "),
        ("[workload]\nseeds = '0:1000000000000'", "workload.seeds must be a range of at most 100,000 seeds up to"),
        (
            "[workload]\nseeds = " + "1" * 30,
            "workload.seeds must be a whole number of at most 9,223,372,036,854,775,807, not",
        ),
        (
            "[workload]\nseeds = 0\njobs = 1000001",
            "workload.jobs must be a whole number of at most 1,000,000, not 1000001",
        ),
        ("[workload]\nseeds = " + "[" * 900 + "]" * 900, "is nested more than 32 levels deep"),
        ("[workload]\nseeds = " + "[" * 90 + "]" * 90, "is nested more than 32 levels deep"),
        ("[workload]\nseeds = " + "9" * 5000, "holds a whole number of more than 4,300 digits"),
        (
            "[workload]\nseeds = 0\n[options]\ntimeout = " + "9" * 400,
            "options.timeout must be a number below 1e308, not",
        ),
    ],
)
def test_a_wrong_key_or_value_is_refused_with_its_path_and_what_is_legal(
    tmp_path: Path, text: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text or "\n# nothing")
    assert cli.main(["sweep", str(path), "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"holdfast sweep: error: {path}:")
    assert sentence in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_grid_that_nobody_can_carry_out_is_refused_before_it_is_made() -> None:
    with pytest.raises(InputError, match=r"has 566,937 runs, but at most 100,000 are allowed"):
        expand(make_sweep(workload={"seeds": "0:9", "jobs": list(range(1, 9000))}))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--workers", "0"], "--workers must be a whole number of at least 1"),
        (["--backend", "ray"], "unknown backend 'ray': known are loky, dask"),
        (["--scheduler", "tcp://a:1"], "scheduler must be left out unless the backend is dask"),
        (["--backend", "dask", "--scheduler", "a:1", "--workers", "2"], "workers must be left out where a scheduler"),
        (["--backend", "dask", "--cluster", "slrum"], "unknown cluster 'slrum': did you mean slurm?"),
        (["--set", "workload"], "--set must be key=value"),
        (
            ["--set", "vary.x=1", "--set", "workload.seeds.x=1"],
            "--set must be a key of the file (seeds is not a table)",
        ),
        (["--set", "workload.traces=none.swf"], "workload: give either seeds"),
    ],
)
def test_wrong_words_on_the_command_line_are_one_sentence(
    tmp_path: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.toml"
    path.write_text(WORKLOAD)
    assert cli.main(["sweep", str(path), "-o", str(tmp_path / "out"), *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_trace_that_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.swf: cannot be read: No such file"):
        run_sweep(make_sweep(workload={"traces": ["none.swf"]}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


# What is read.


def test_every_parameter_may_be_varied_and_no_two_have_one_name() -> None:
    names = [item.name for kind in (Assignment, Options) for item in fields(kind)]
    assert len(set(names)) == len(names)
    others: dict[str, Any] = {
        **{"shares": [[0.2, 0.5, 0.3]], "rigid_setup": [[0, 0.1]], "malleable_setup": [[0, 0.1]]},
        **{"notice_lead": [["1m", "1h"]], "notice_mix": "W1", "group_by": "user", "overheads": "added"},
        **{"extra_dumps": "free", "types": "qos:high=spot"},
        **{"passes": "event", "backfill_length": "runtime", "tenants": "none", "order": "fcfs"},
        **{"backfilling": "easy length=runtime", "expansion": "even", "walltimes": "trace"},
        **{"malleable_start": "requested", "malleable_resume": "former", "malleable_head": "requested"},
        **{"arrival_takes": "reserved", "shrunk_lenders": "stay", "preempted_lenders": "hold"},
        **{"plan": "masi k=5", "checkpoint_mode": "strict", "seed": 7, "engine": "simpy"},
    }
    for table_name, kind in (("assignment", Assignment), ("options", Options)):
        for item in fields(kind):
            value = others.get(item.name, 0.25)
            for given in (value, value if isinstance(value, list) else [value]):
                points = expand(
                    make_sweep(workload={"seeds": 0}, mechanisms="N-PAA", **{table_name: {item.name: given}})
                )
                assert len(points) == 1
                changed = getattr(getattr(points[0], table_name), item.name)
                assert item.name == "order" or changed != getattr(kind(), item.name)


def test_values_are_read_as_they_are_meant(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(
        """
        mechanisms = "baseline,CUA-SPAA"
        vary = "one-at-a-time"
        [workload]
        traces = ["a.swf", {path = "b.csv", nodes = 7, format = "alcf", lenient = false}]
        nodes = 100
        lenient = true
        where = "queue!=1"
        [assignment]
        seeds = "3:5"
        node_mtbf = ["1y", 31536000]
        notice_lead = ["15m", 1800]
        notice_mix = ["W2", [0.1, 0.2, 0.3, 0.4]]
        shares = [[0.1, 0.6, 0.3], [1, 0, 0]]
        [options]
        warning = "2m"
        [measure]
        warmup = "1w"
        """
    )
    sweep = read_sweep(path, ["assignment.seeds=4", "options.tenants=none", 'options.passes=["instant", "event"]'])
    assert sweep.mechanisms == ("baseline", "CUA-SPAA")
    assert sweep.vary == "one-at-a-time"
    first, second = sweep.workload.traces
    assert (first.path, first.nodes, first.format, first.lenient) == ("a.swf", 100, None, True)
    assert (second.path, second.nodes, second.format, second.lenient) == ("b.csv", 7, "alcf", False)
    assert first.directory == second.directory == str(tmp_path)
    assert sweep.assignment.seeds == (4,)
    assert dict(sweep.assignment.values) == {
        "shares": ((0.1, 0.6, 0.3), (1.0, 0.0, 0.0)),
        "notice_mix": ("W2", (0.1, 0.2, 0.3, 0.4)),
        "notice_lead": ((900.0, 1800.0),),
        "node_mtbf": (31536000.0, 31536000.0),
    }
    assert dict(sweep.options.values) == {"passes": ("instant", "event"), "tenants": ("none",), "warning": (120.0,)}
    assert sweep.measure.warmup == 7 * 86400


def test_the_paths_of_traces_are_relative_to_the_file(tmp_path: Path) -> None:
    write_swf(generate(ThetaYear(jobs=20), 0), tmp_path / "year.swf")
    (tmp_path / "a.toml").write_text("[workload]\ntraces = ['year.swf']")
    workload = expand(read_sweep(tmp_path / "a.toml"))[0].workload
    assert isinstance(workload, Log)
    assert workload.path == str(tmp_path / "year.swf")
    assert workload.label == "year.swf"


# What is run.


def test_the_grid_is_the_product_in_the_order_of_the_tables() -> None:
    runs = expand(
        make_sweep(
            workload={"seeds": "0:2", "jobs": 50},
            mechanisms=["baseline", "CUA-SPAA", "CUP-PAA"],
            assignment={"notice_mix": ["W1", "W5"]},
            options={"tenants": ["any", "none"]},
        )
    )
    seen = [(run.workload.label, run.assignment.notice_mix, run.options.tenants, run.mechanism) for run in runs]
    assert seen == [
        (workload, mix, tenants, mechanism)
        for workload in ("seed 0", "seed 1")
        for mix in ("W1", "W5")
        for tenants in ("any", "none")
        for mechanism in ("baseline", "CUA-SPAA", "CUP-PAA")
    ]
    assert all(run.assignment_seed == run.workload.seed for run in runs if isinstance(run.workload, GeneratedYear))
    assert len({run.key for run in runs}) == len(runs) == 24


def test_one_at_a_time_leaves_the_first_values_by_one_parameter() -> None:
    runs = expand(
        make_sweep(
            workload={"seeds": [5, 6], "jobs": [10, 20]},
            mechanisms=["N-PAA", "N-SPAA"],
            assignment={"overheads": ["added", "inside"], "node_mtbf": ["1y", "5y", "10y"], "seeds": 3},
            options={"tenants": ["any", "fits", "none"], "timeout": 60},
            vary="one-at-a-time",
        )
    )
    points = [("", "added", 1, "any"), ("node_mtbf", "added", 5, "any"), ("node_mtbf", "added", 10, "any")]
    points += [("overheads", "inside", 1, "any"), ("tenants", "added", 1, "fits"), ("tenants", "added", 1, "none")]
    seen = Counter(
        (run.varied, run.assignment.overheads, run.assignment.node_mtbf / (365 * 86400), run.options.tenants)
        for run in runs
    )
    assert seen == dict.fromkeys(points, 8)  # 2 seeds x 2 lengths x 2 mechanisms
    assert {run.options.timeout for run in runs} == {60.0}
    assert {run.assignment_seed for run in runs} == {3}


@pytest.mark.parametrize(("measure", "expected"), [({}, [60.0, 600.0]), ({"instant_tolerance": 30}, [30.0, 30.0])])
def test_instant_is_within_the_warning_of_the_run_unless_given(measure: dict[str, int], expected: list[float]) -> None:
    runs = expand(
        make_sweep(workload={"seeds": 0}, mechanisms="N-PAA", options={"warning": [60, "10min"]}, measure=measure)
    )
    assert [run.measurement.instant_tolerance for run in runs] == expected


def test_a_run_is_there_once() -> None:
    runs = expand(
        make_sweep(workload={"seeds": [0, 0]}, mechanisms="all,CUA-SPAA", assignment={"node_mtbf": ["1y", "365d"]})
    )
    assert [run.mechanism for run in runs].count("CUA-SPAA") == 1
    assert len(runs) == 7


def test_the_key_is_what_decides_the_result_and_nothing_else(tmp_path: Path) -> None:
    (plain,) = expand(make_sweep(workload={"seeds": 0}, mechanisms="N-PAA"))
    assert plain.key == expand(make_sweep(workload={"seeds": 0, "jobs": ThetaYear().jobs}, mechanisms="N-PAA"))[0].key
    assert replace(plain, varied="tenants").key == plain.key
    different = [
        replace(plain, mechanism="N-SPAA"),
        replace(plain, assignment_seed=1),
        replace(plain, model="another"),
        replace(plain, workload=GeneratedYear(1, ThetaYear().jobs)),
        replace(plain, workload=GeneratedYear(0, 10)),
        replace(plain, assignment=Assignment(min_share=0.3)),
        replace(plain, options=Options(timeout=1)),
        replace(plain, measurement=replace(plain.measurement, warmup=1)),
    ]
    log = Log("a", "/a", "0" * 64, None, None, None, False)
    logs = [replace(plain, workload=log), replace(plain, workload=replace(log, nodes=3))]
    logs += [
        replace(plain, workload=replace(log, sha256="1" * 64)),
        replace(plain, workload=replace(log, lenient=True)),
        replace(plain, workload=replace(log, columns="pm100")),
    ]
    keys = [run.key for run in (plain, *different, *logs)]
    assert len(set(keys)) == len(keys)
    assert replace(plain, workload=replace(log, label="b", path="/b")).key == logs[0].key


@pytest.mark.system
def test_the_fingerprint_covers_every_module_that_a_simulation_loads() -> None:
    code = (
        "import sys\n"
        "from holdfast.experiments.sweeps.grid import expand\n"
        "from holdfast.experiments.sweeps import make_sweep\n"
        "from holdfast.experiments.sweeps.simulations import simulate_run\n"
        "run, = expand(make_sweep(workload={'seeds': 0, 'jobs': 50}, mechanisms='CUP-SPAA'))\n"
        "assert not simulate_run(run).error\n"
        "layers = 'workloads', 'policies', 'simulator'\n"
        "names = [name for name in sys.modules if name.startswith('holdfast.') and name.split('.')[1] in layers]\n"
        "print(*(sys.modules[name].__file__ for name in names))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    covered = {path for pattern in MODEL for path in ROOT.glob(pattern)}
    assert len(loaded.split()) > 30
    assert {Path(path).resolve() for path in loaded.split()} <= covered


# What the page says.


def test_the_files_of_the_page_are_legal_and_make_so_many_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "sweeps.md").read_text()
    files = re.findall(r"^ *```toml\n(.*?)^ *```", page, flags=re.MULTILINE | re.DOTALL)
    first, second, _ = (textwrap.dedent(text) for text in files if "[options]" in text)
    (tmp_path / "a.toml").write_text(first)
    assert len(expand(read_sweep(tmp_path / "a.toml"))) == 350
    (tmp_path / "b.toml").write_text(second)
    runs = expand(read_sweep(tmp_path / "b.toml", ["workload.seeds=0", "mechanisms=N-PAA"]))
    assert len(runs) == 1 + 1 + 2 + 2
    assert len(expand(read_sweep(tmp_path / "b.toml", ["workload.seeds=0", "mechanisms=N-PAA", "vary=product"]))) == 18


def test_every_key_is_on_the_page() -> None:
    page = (ROOT / "docs" / "sweeps.md").read_text()
    for kind in (Sweep, Workload, Assignment, Options, Measurement):
        for item in fields(kind):
            assert f"`{item.name}`" in page or f"[{item.name}]" in page, item.name

"""Names in files: without trust none of them imports code, whichever file it stands in and whichever command reads it.

Each plant is a file that names ``evil_names``, a module that leaves a mark when it is imported and that lies in the
current directory and on the path. Without ``--trust`` the command refuses it in one sentence; with ``--trust`` the mark
is there, so that the plant is known to work.
"""

from __future__ import annotations

import argparse
import ast
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pytest
from loky import get_reusable_executor

import holdfast as hf
from holdfast.experiments import cli
from holdfast.experiments.output.manifest import open_result, seal
from holdfast.experiments.study.experiment import find_experiment, measure_experiment
from holdfast.experiments.sweeps import read_sweep, run_sweep
from holdfast.experiments.sweeps.dask_cluster import cluster_options
from holdfast.experiments.sweeps.execution import spread
from holdfast.experiments.sweeps.toml_structure import PLUGIN_KEYS
from holdfast.policies.learned_arrival import CONSEQUENCES
from holdfast.policies.score_network import ScoringNetwork
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.registry import Registry
from holdfast.workloads.ground.trust import admit, is_trusted, trust
from tests.places import PACKAGES, ROOT
from tests.support.jobs import reseal
from tests.support.sources import syntax_tree
from tests.test_docs import command_parser

MARK = "it-ran"
EVIL = f"""
from pathlib import Path
from holdfast.policies.planning.strategies import optimal
from holdfast.policies.arrival import PreemptAtArrival
Path({MARK!r}).touch()
def key(job, now): return job.submit
def rule(*_): return []
strategy, arrival = optimal, PreemptAtArrival()
def notice(*_): return []
def reader(text, path, **_): raise ValueError
"""
TABLE = "job_id,type,submit,nodes,runtime,walltime\n1,rigid,0,2,600,900\n2,rigid,10,2,600,900\n3,rigid,20,1,60,90\n"
STOCHASTIC = (
    "job_id,type,submit,nodes,runtime,walltime,application,plan\n1,rigid,0,2,600,900,,\n2,stochastic,5,1,600,900,a,{}\n"
)
TRACE = "; MaxNodes: 4\n" + "".join(
    f"{job} {60 * job} 0 600 2 -1 -1 2 900 -1 1 1 1 1 1 -1 -1 -1\n" for job in range(1, 6)
)
NAME = "evil_names"


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results, a trace and an experiment that name nothing."""
    place = tmp_path_factory.mktemp("originals")
    (place / "table.csv").write_text(TABLE)
    (place / "a.swf").write_text(TRACE)
    (place / "stochastic.csv").write_text(STOCHASTIC.format("masi k=1"))
    run = ["--nodes", "4", "--events", "-o"]
    assert cli.main(["run", str(place / "table.csv"), *run, str(place / "run"), "--mechanism", "baseline"]) == 0
    assert cli.main(["run", str(place / "stochastic.csv"), *run, str(place / "courses"), "--mechanism", "N-PAA"]) == 0
    assert cli.main(["run", str(place / "a.swf"), *run[2:], str(place / "traced"), "--mechanism", "baseline"]) == 0
    (place / "experiments").mkdir()
    item = find_experiment("checkpoint-table1")
    measure_experiment(item, item.quick, 0, place / "experiments", "0")
    return place


@pytest.fixture
def place(originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of them in the current directory, beside the code."""
    shutil.copytree(originals, tmp_path, dirs_exist_ok=True)
    (tmp_path / f"{NAME}.py").write_text(EVIL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    return tmp_path


def ran(place: Path) -> bool:
    sys.modules.pop(NAME, None)
    found = place / MARK
    there = found.exists()
    found.unlink(missing_ok=True)
    return there


@dataclass(frozen=True)
class Plant:
    """A name of code in a file.

    Attributes
    ----------
    kinds
        Kinds of the registries that it would be looked up in.
    put
        Writes it.
    words
        Command lines that read it.
    imports
        Whether the first of them imports it where it is trusted; else it only reads the name.
    """

    kinds: tuple[str, ...]
    put: Callable[[Path], object]
    words: tuple[str, ...]
    imports: bool = True


def _table(place: Path) -> None:
    (place / "jobs.csv").write_text(STOCHASTIC.format(f"{NAME}:strategy"))


def _parquet(place: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    _table(place)
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(place / "jobs.csv"), place / "jobs.parquet")


def _grid(line: str, jobs: str = "seeds = 0\njobs = 9") -> Callable[[Path], object]:
    first, last = ("", line) if line.startswith("[") else (line, "")
    return lambda place: (place / "grid.toml").write_text(f"{first}\n[workload]\n{jobs}\n{last}\n")


def _order(place: Path) -> None:
    options = json.loads((place / "run" / "run.json").read_text())["options"]
    reseal(place / "run", options=options | {"order": f"{NAME}:key"})


def _format(place: Path) -> None:
    source = json.loads((place / "traced" / "run.json").read_text())["input"]
    reseal(place / "traced", input={**source, "path": "a.swf", "format": f"{NAME}:reader"}, job_table=None)


def _courses(place: Path) -> None:
    table = place / "courses" / "jobs.csv"
    table.write_text(table.read_text().replace("masi k=1", f"{NAME}:strategy"))
    reseal(place / "courses")


def _network(place: Path) -> None:
    names = ("PAA", f"{NAME}:arrival")
    weights = np.zeros((len(CONSEQUENCES), 1)), np.zeros(1), np.zeros(1)
    ScoringNetwork(*weights, names).save(place / "net.npz")


def _archive(place: Path, key: str) -> None:
    item = find_experiment("beyond-orders")
    new = place / "archive"
    new.mkdir()
    content = open_result(place / "experiments", "checkpoint-table1.json").content
    parameters = json.loads(json.dumps(vars(item.quick))) | {"jobs": 30, "traces": 2, key: [f"{NAME}:key"]}
    seal(new, f"{item.id}.json", {**content, "experiment": item.id, "parameters": parameters})


def _plan(place: Path) -> None:
    assert cli.main(["plan", "uniform", "--min", "1h", "--max", "2h", "--json", "plan.json"]) == 0
    document = json.loads((place / "plan.json").read_text())
    document.pop("digest", None)
    (place / "plan.json").write_text(json.dumps({**document, "strategy": f"{NAME}:strategy"}))


READ = "--mechanism baseline"
GRID = "sweep grid.toml -o s --dry-run"
AGAIN = "reproduce --check archive -o out"
PLANTS: dict[str, Plant] = {
    "job table": Plant(
        ("planning strategy",),
        _table,
        (
            "run jobs.csv -o out --nodes 4 --mechanism N-PAA",
            "loop jobs.csv -o out --nodes 4",
            "info jobs.csv",
            "whatif jobs.csv --order sjf",
            "prepare jobs.csv -o out",
            "fit-costs jobs.csv",
            "forecast jobs.csv --at 1h",
            "advise jobs.csv --at 1h --nodes 1 --machine 4 --walltime 1h",
            "marginals jobs.csv -o out",
            "calibrate jobs.csv",
            "slurm replay jobs.csv -o out",
        ),
    ),
    "job table in Parquet": Plant(("planning strategy",), _parquet, ("run jobs.parquet -o out --nodes 4",)),
    "sweep, mechanism": Plant(
        ("notice strategy", "arrival strategy"),
        _grid(f"mechanisms=['{NAME}:notice-PAA']"),
        (GRID,),
    ),
    **{
        f"sweep, {key}": Plant(
            (kind,),
            _grid(f"[{'assignment' if key == 'plan' else 'options'}]\n{key} = ['{NAME}:{name}']"),
            (GRID, "sweep grid.toml -o s --workers 2"),
        )
        for key, kind, name in (
            ("order", "order", "key"),
            ("backfilling", "backfilling rule", "rule"),
            ("tenants", "tenants rule", "rule"),
            ("expansion", "expansion", "rule"),
            ("plan", "planning strategy", "strategy"),
        )
    },
    "sweep, format": Plant(("format",), _grid("", f"traces = 'a.swf'\nformat = '{NAME}:reader'"), (GRID,)),
    "sweep, format of a trace": Plant(
        ("format",),
        _grid("", f"traces = [{{path = 'a.swf', format = '{NAME}:reader'}}]"),
        (GRID,),
    ),
    "result, order": Plant(("order",), _order, ("explain run 1",)),
    "result, format": Plant(
        ("format",),
        _format,
        (
            f"explain traced --worst 1 {READ}",
            f"gantt traced -o a.html {READ}",
            f"picture use traced {READ}",
            f"export traced -o a.json {READ}",
            f"fit-costs traced {READ}",
            "compare run traced",
            f"forecast traced --at 1h {READ}",
        ),
    ),
    "result, job table": Plant(
        ("planning strategy",),
        _courses,
        ("explain courses 1", "gantt courses -o a.html", "export courses -o a.json", "compare courses run"),
        imports=False,
    ),
    "network": Plant(
        ("arrival strategy",), _network, ("run table.csv -o out --nodes 4 --mechanism 'N-learned model=net.npz'",)
    ),
    "archive, orders": Plant(("order",), lambda place: _archive(place, "orders"), (AGAIN,)),
    "archive, rules": Plant(("backfilling rule",), lambda place: _archive(place, "rules"), (AGAIN,)),
}
#: What takes seconds where it is trusted.
LONG = ("archive, orders", "archive, rules")
#: Kinds of plug-ins that no file names.
UNNAMED = {"export format"}

#: Modules that read files, and the plant that they are tried with, or why they name no code.
NOTHING = "holds numbers, dates and labels alone"
FILES = {
    "experiments/commands/explain.py": "result, order",
    "experiments/commands/machine.py": NOTHING,
    "experiments/commands/options/snapshots.py": NOTHING,
    "experiments/commands/plot.py": NOTHING,
    "experiments/commands/submit.py": "the strategy of a plan is a label",
    "experiments/forecast/back_test_cache.py": NOTHING,
    "experiments/forecast/rule_file.py": "options, looked up as those of the command line",
    "experiments/output/atomic_replace.py": "looks at digests",
    "experiments/output/manifest.py": "reads manifests, of which others use the names",
    "experiments/planning/cost_file.py": NOTHING,
    "experiments/planning/plan_inputs.py": "the strategy of a plan is a label",
    "experiments/planning/wait_pairs.py": "result, format",
    "experiments/recordings/allocation_table.py": NOTHING,
    "experiments/recordings/archive.py": "result, order",
    "experiments/recordings/streamed_jobs.py": NOTHING,
    "experiments/recordings/run_file.py": "result, format",
    "experiments/slurm/accounting.py": NOTHING,
    "experiments/slurm/backfill_passes.py": NOTHING,
    "experiments/slurm/placed_replay.py": NOTHING,
    "experiments/slurm/actuator.py": NOTHING,
    "experiments/slurm/control_loop.py": NOTHING,
    "experiments/slurm/daemons.py": NOTHING,
    "experiments/slurm/lab.py": NOTHING,
    "experiments/slurm/lab_limits.py": NOTHING,
    "experiments/slurm/live_replay.py": NOTHING,
    "experiments/commands/slurm/compare.py": NOTHING,
    "experiments/slurm/submit_lines.py": NOTHING,
    "experiments/slurm/recorded_limits.py": NOTHING,
    "experiments/slurm/recorded_replay.py": NOTHING,
    "experiments/slurm/site_priorities.py": NOTHING,
    "experiments/slurm/site_snapshot.py": NOTHING,
    "experiments/slurm/templates.py": "reads templates of ours",
    "experiments/slurm/workdir.py": NOTHING,
    "experiments/study/artefact.py": "archive, orders",
    "experiments/study/packed_store.py": NOTHING,
    "experiments/study/expected_cost.py": NOTHING,
    "experiments/study/experiment.py": NOTHING,
    "experiments/study/integrity.py": "looks at digests",
    "experiments/study/redraw.py": NOTHING,
    "experiments/study/report/choices.py": "reads our documentation",
    "experiments/study/report/answers.py": NOTHING,
    "experiments/study/report/paper_table.py": NOTHING,
    "experiments/study/rule_digests.py": "digests of our rules",
    "experiments/study/row_cache.py": NOTHING,
    "experiments/study/cost_log.py": NOTHING,
    "experiments/sweeps/dask_cluster.py": "cluster options, which have a test of their own",
    "experiments/sweeps/fingerprint.py": "reads our sources",
    "experiments/sweeps/store.py": NOTHING,
    "experiments/sweeps/toml_structure.py": "sweep, order",
    "experiments/sweeps/sweep.py": "looks at digests",
    "experiments/tables.py": NOTHING,
    "policies/score_network.py": "network",
    "policies/planning/serialisation.py": "the strategy of a plan is a label",
    "workloads/chains/csv_cells.py": NOTHING,
    "workloads/ground/documents.py": "reads documents, of which others use the names",
    "workloads/ground/files.py": "reads texts, of which others use the names",
    "workloads/ground/object_code.py": "sources of our loops, whose digest decides whether their code is theirs",
    "workloads/logs/alcf.py": NOTHING,
    "workloads/logs/alea.py": NOTHING,
    "workloads/logs/column_log.py": NOTHING,
    "workloads/logs/known_logs.py": "a catalogue of ours",
    "workloads/logs/node_list.py": NOTHING,
    "workloads/logs/readers.py": "job table",
    "workloads/logs/sacct.py": NOTHING,
    "workloads/logs/sacct_formats.py": NOTHING,
    "workloads/logs/slurm_json.py": NOTHING,
    "workloads/logs/snapshot.py": NOTHING,
    "workloads/logs/squeue.py": NOTHING,
    "workloads/logs/sshare.py": NOTHING,
    "workloads/logs/swf.py": NOTHING,
    "workloads/machines/machine_file.py": NOTHING,
    "workloads/machines/slurm_limits.py": NOTHING,
    "workloads/machines/slurm_output.py": NOTHING,
    "workloads/machines/slurm_conf.py": "a table of ours maps Slurm's words to names",
    "workloads/machines/sources.py": NOTHING,
    "workloads/outages/file.py": NOTHING,
    "workloads/requests/log_requests.py": "the layouts are a table of ours",
    "workloads/table/job_table.py": "job table",
    "workloads/table/parquet.py": "job table in Parquet",
}
#: What reads a file or the text of one.
_READING = frozenset(
    {
        *("read_toml", "read_json", "parse_json", "parse_toml", "json_items", "csv_rows", "read_csv", "table_rows"),
        *("read_text", "read_bytes", "open_result", "decode_text", "ParquetFile", "read_table"),
        *("json.load", "json.loads", "csv.reader", "csv.DictReader", "np.load", "zipfile.ZipFile", "tomllib.loads"),
        *("tomllib.load", "pickle.load", "pickle.loads", "joblib.load", "np.loadtxt", "np.genfromtxt"),
    }
)


def exit_status(words: str, *more: str) -> int:
    import shlex

    try:
        return cli.main([*shlex.split(words), *more])
    except SystemExit as stop:
        return int(stop.code or 0)


@pytest.mark.parametrize("name", PLANTS)
def test_without_trust_no_file_names_code(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant = PLANTS[name]
    plant.put(place)
    for words in plant.words:
        capsys.readouterr()
        status, error = exit_status(words), capsys.readouterr().err
        assert not ran(place), words
        assert status == 2, (words, error)
        assert f"{NAME}:" in error, words
        assert "add --trust" in error, words
        assert len(error.splitlines()) == 1, (words, error)
        assert "Traceback" not in error


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.system) if name in LONG else name
        for name, plant in PLANTS.items()
        if plant.imports
    ],
)
def test_with_trust_the_code_runs(
    name: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The code raises errors, of which reports are written there.
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    PLANTS[name].put(place)
    exit_status(PLANTS[name].words[0], "--trust")
    assert ran(place), capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name, plant in PLANTS.items() if not plant.imports])
def test_with_trust_what_is_only_looked_at_is_read(name: str, place: Path) -> None:
    PLANTS[name].put(place)
    assert exit_status(PLANTS[name].words[0], "--trust") == 0
    assert not ran(place)


def test_a_user_may_name_code_on_the_command_line(place: Path) -> None:
    assert exit_status(f"run table.csv -o out --nodes 4 --mechanism baseline --order {NAME}:key") == 0
    assert ran(place)
    _grid("[options]\ntimeout = 60")(place)
    assert exit_status(f"sweep grid.toml -o s --dry-run --set options.order={NAME}:key") == 0
    assert ran(place)


def test_plans_and_options_of_a_cluster(place: Path) -> None:
    _plan(place)
    assert exit_status("submit plan.json -o chain -- true") in (0, 2)
    assert not ran(place)
    path = place / "slurm.toml"
    path.write_text('cores = 16\nqueue = "normal"\nwalltime = "02:00:00"\njob_extra_directives = ["--mem 3G"]\n')
    assert cluster_options(path)["cores"] == 16
    for line in (
        f'preload = "{NAME}"',
        f'worker_class = "{NAME}.Worker"',
        'job_script_prologue = ["touch it-ran"]',
        f'scheduler_options = {{preload = "{NAME}"}}',
        'queue = "a\\ntouch it-ran"',
        'local_directory = "$(touch it-ran)"',
        f'local_directory = "a --preload {NAME}"',
    ):
        path.write_text(line)
        with pytest.raises(InputError, match="--trust"):
            cluster_options(path)
        with trust():
            assert cluster_options(path)


def test_every_kind_of_plug_in_is_planted() -> None:
    kinds = set()
    for package in PACKAGES:
        for module in walk_packages(import_module(f"holdfast.{package}").__path__, f"holdfast.{package}."):
            if not module.name.endswith("__main__"):
                kinds |= {item.kind for item in vars(import_module(module.name)).values() if isinstance(item, Registry)}
    assert kinds - UNNAMED == {kind for plant in PLANTS.values() for kind in plant.kinds}
    assert {kind for kind in PLUGIN_KEYS.values() if kind != "mechanism"} <= kinds


def test_every_module_that_reads_files_is_accounted_for() -> None:
    reading = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text()
            if not any(name in text for name in _READING):
                continue
            calls = [node.func for node in ast.walk(syntax_tree(text)) if isinstance(node, ast.Call)]
            names = {item.id if isinstance(item, ast.Name) else item.attr for item in calls if not _apart(item)}
            names |= {ast.unparse(item) for item in calls if isinstance(item, ast.Attribute)}
            if names & _READING:
                reading.add(path.relative_to(ROOT).as_posix())
    assert reading == set(FILES)
    assert {plant for plant in FILES.values() if plant in PLANTS}


def _apart(item: ast.expr) -> bool:
    return not isinstance(item, ast.Name | ast.Attribute)


def test_every_command_with_that_option_is_tried() -> None:
    tried = {" ".join(words.split()[: 2 if words.startswith("slurm") else 1]) for plant in PLANTS.values()
             for words in plant.words}  # fmt: skip
    having = set()
    for name in cli.COMMANDS:
        parser = command_parser(name)
        having |= {" ".join([name, *path]) for path, inner in _parsers(parser) if "--trust" in inner}
    # These look for a Slurm first; the job table is read as that of `slurm replay`.
    assert having - tried == {"slurm follow", "slurm serve-on-demand"}
    assert tried <= having


def _parsers(parser: argparse.ArgumentParser) -> list[tuple[tuple[str, ...], set[str]]]:
    found = [((), set(parser._option_string_actions))]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [((name,), set(inner._option_string_actions)) for name, inner in action.choices.items()]
    return found


class TestPython:
    """The same in a program: files are refused, what the program itself names is not."""

    def test_files(self, place: Path) -> None:
        _table(place)
        with pytest.raises(InputError, match=r"jobs\.csv:3: plan: the planning strategy 'evil_names:strategy'"):
            hf.read_job_table("jobs.csv")
        _grid(f"[options]\norder = '{NAME}:key'")(place)
        with pytest.raises(InputError, match=r"grid\.toml: options\.order: the order 'evil_names:key' is code"):
            read_sweep("grid.toml")
        assert not ran(place)
        with hf.trust():
            jobs = hf.read_job_table("jobs.csv").jobs
        hf.simulate(jobs, 4)
        assert ran(place)

    def test_what_a_program_names(self, place: Path) -> None:
        hf.simulate(hf.read_job_table("table.csv").jobs, 4, order=f"{NAME}:key")
        assert ran(place)

    def test_trust_ends_with_its_block_and_is_of_one_thread(self) -> None:
        assert not is_trusted()
        with trust():
            with trust(False):
                assert is_trusted()
            with ThreadPoolExecutor(1) as pool:
                assert not pool.submit(is_trusted).result()
        assert not is_trusted()
        with pytest.raises(ZeroDivisionError), trust():
            _ = 1 / 0
        assert not is_trusted()
        assert admit("order", "easy depth=4", "a.toml") == "easy depth=4"

    @pytest.mark.system
    def test_workers_have_it_too(self, place: Path) -> None:
        get_reusable_executor().shutdown(wait=True)  # the workers of an earlier test stay in its directory
        with trust():
            assert list(spread(trusted_there, [1, 2], 2)) == [True, True]
        assert list(spread(trusted_there, [1, 2], 2)) == [False, False]
        _network(place)
        _grid("mechanisms = ['N-learned model=net.npz', 'N-PAA']", "seeds = '0:2'\njobs = 40")(place)
        with pytest.raises(InputError, match="answers: the arrival strategy"):
            run_sweep(read_sweep("grid.toml"), place / "s", workers=2)
        with trust():
            assert run_sweep(read_sweep("grid.toml"), place / "s", workers=2).complete().computed == 4


def trusted_there(_: Any) -> bool:
    return is_trusted()

"""Plug-ins all the way: the example package, installed; its page; three ways of naming; sweeps in other processes."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import pytest
from loky import get_reusable_executor

from holdfast.experiments.cli import main
from holdfast.experiments.sweeps import make_sweep, run_sweep
from holdfast.experiments.tables import read_csv
from holdfast.policies.arrival import ARRIVALS, PreemptAtArrival
from holdfast.policies.order import ORDERS
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.strategies import STRATEGIES
from holdfast.simulator import simulate
from holdfast.workloads.distributions import uniform
from holdfast.workloads.ground.errors import HoldfastError, InputError
from tests.places import ROOT
from tests.strategies.tables import random_job_table

PACKAGE = ROOT / "docs" / "examples" / "holdfast-example"
PAGE = ROOT / "docs" / "plugins.md"
#: In the package and on the page, and how they are named as entry points.
EXAMPLES = {"AgedShortest": "aged", "narrow": "narrow", "YoungestFirst": "youngest", "halving": "halving"}


@pytest.fixture(scope="session")
def plugin_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package as pip installs it, without a network."""
    if find_spec("hatchling") is None:
        pytest.skip("hatchling, with which the example package is built, is not installed: pip install -e '.[dev]'")
    place = tmp_path_factory.mktemp("installed")
    source = tmp_path_factory.mktemp("source") / "holdfast-example"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words, "--target", str(place), str(source)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def example(plugin_place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """The installed package's module; the working directory is empty."""
    monkeypatch.syspath_prepend(str(plugin_place))
    monkeypatch.setenv("PYTHONPATH", f"{plugin_place}:{ROOT}")
    monkeypatch.chdir(tmp_path)
    import holdfast_example  # type: ignore[import-not-found]

    assert Path(holdfast_example.__file__).is_relative_to(plugin_place)
    yield holdfast_example
    sys.modules.pop("holdfast_example")


def _definition(text: str, name: str) -> str:
    """The source of a class or function, decorators included."""
    node = next(item for item in ast.parse(text).body if getattr(item, "name", "") == name)
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])


def test_the_page_shows_what_the_package_has_in_less_than_twenty_lines() -> None:
    page, module = PAGE.read_text(), (PACKAGE / "holdfast_example.py").read_text()
    blocks = re.findall(r"<!-- file: (\w+)\.py -->\n```python\n(.*?)```", page, flags=re.DOTALL)
    assert [name for name, _ in blocks] == list(EXAMPLES.values())
    for (_, block), name in zip(blocks, EXAMPLES, strict=True):
        assert _definition(block, name) == _definition(module, name)
        assert len(block.splitlines()) < 20
    shown = re.search(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert shown is not None
    project = (PACKAGE / "pyproject.toml").read_text()
    assert all(line in project for line in shown[1].splitlines())


@pytest.mark.system
def test_its_own_test_passes(example: Any) -> None:
    code = "import runpy; runpy.run_path(r'{}')['test_contract']()".format(PACKAGE / "test_holdfast_example.py")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.system
def test_the_order_by_all_three_names(example: Any) -> None:
    ORDERS.add("my-aged", example.AgedShortest)
    differs = 0
    try:
        for seed in range(25):
            table = random_job_table(seed)
            logs = [
                simulate(table.jobs, table.nodes, order=name).entries
                for name in ("aged pace=0.5", "holdfast_example:AgedShortest pace=0.5", "my-aged pace=0.5")
            ]
            assert logs[0] == logs[1] == logs[2]
            differs += logs[0] != simulate(table.jobs, table.nodes).entries
    finally:
        ORDERS.forget("my-aged")
    assert differs > 5


@pytest.mark.system
def test_the_arrival_strategy_by_all_three_names(example: Any) -> None:
    ARRIVALS.add("my-youngest", example.YoungestFirst)
    differs = 0
    try:
        for seed in range(60):
            table = random_job_table(seed)
            logs = [
                simulate(table.jobs, table.nodes, f"CUA-{name}").entries
                for name in ("youngest", "holdfast_example:YoungestFirst", "my-youngest")
            ]
            assert logs[0] == logs[1] == logs[2]
            differs += logs[0] != simulate(table.jobs, table.nodes, "CUA-PAA").entries
    finally:
        ARRIVALS.forget("my-youngest")
    assert differs > 3
    assert isinstance(ARRIVALS["youngest"], PreemptAtArrival)


@pytest.mark.system
def test_the_reservation_strategy_by_all_three_names(example: Any) -> None:
    STRATEGIES.add("my-halving", example.halving)
    try:
        names = ("halving", "holdfast_example:halving", "my-halving")
        made = [STRATEGIES[name](uniform(0.0, 16.0), CostModel(checkpoint=1.0)) for name in names]
    finally:
        STRATEGIES.forget("my-halving")
    assert made[0] == made[1] == made[2]
    assert made[0].milestones.tolist() == [8.0, 12.0, 14.0, 15.0]


@pytest.mark.system
def test_the_command_line_takes_them_wherever_a_name_is_taken(
    example: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def holdfast(line: str, status: int = 0) -> str:
        capsys.readouterr()
        assert main(shlex.split(line)) == status, capsys.readouterr().err
        return capsys.readouterr().out

    shown = holdfast("policies --kind order")
    assert "aged " in shown
    assert "[holdfast-example]" in shown
    assert "pace=1" in shown
    holdfast("generate -o year.swf.gz --jobs 250")
    # Entry points, a job table with plans, import paths with parameters, and the same again from the table.
    assert "halving" in holdfast("plan uniform --min 1h --max 3h --checkpoint 10min --strategy halving")
    assert "halving" in holdfast(
        "plan uniform --min 1h --max 3h --checkpoint 10min --strategy 'holdfast_example:halving steps=2' --json p.json"
    )
    run = "run year.swf.gz -o {} --order {} --mechanism {} --stochastic-share 0.2 --plan {} --known-runs 2"
    holdfast(run.format("a", "aged", "baseline,CUA-youngest", "halving"))
    path = "holdfast_example:"
    names = f"{path}AgedShortest", f"baseline,CUA-{path}YoungestFirst", f"{path}halving"
    holdfast(f"{run.format('b', *names)} --plot --events")
    again = "run b/jobs.csv -o c --nodes 4392 --order aged --mechanism CUA-youngest --known-runs 2"
    holdfast(again, 2)
    holdfast(f"{again} --trust")
    files = {item.name for item in (tmp_path / "b").iterdir()}
    assert {"jobs-CUA-holdfast_example_YoungestFirst.csv", "mechanisms.png", "machine.png"} <= files
    assert not any(":" in name for name in files)
    for table in ("jobs", "stochastic", "reservations"):
        first = read_csv(tmp_path / "a" / f"{table}-CUA-youngest.csv")
        second = read_csv(tmp_path / "b" / f"{table}-CUA-holdfast_example_YoungestFirst.csv")
        third = read_csv(tmp_path / "c" / f"{table}-CUA-youngest.csv")
        if table == "stochastic":
            for row in (*first, *second, *third):
                row.pop("plan")
            assert {row["strategy"] for row in first} == {"halving", "walltime"}
        assert first == second == third
    summary = read_csv(tmp_path / "b" / "summary.csv")
    assert [row["mechanism"] for row in summary] == ["baseline", "CUA-holdfast_example:YoungestFirst"]
    holdfast("plot b")
    submitted = read_csv(tmp_path / "b" / "jobs-CUA-holdfast_example_YoungestFirst.csv")[0]
    # Their code is not run because a file names it.
    telling = f"explain b {submitted['job_id']} --mechanism CUA-holdfast_example:YoungestFirst"
    holdfast(telling, 2)
    holdfast("export b --mechanism CUA-holdfast_example:YoungestFirst -o out.swf --trust")
    story = holdfast(f"{telling} --trust")
    assert "was not recorded" not in story
    assert "It was submitted" in story
    holdfast("picture queue b --mechanism CUA-holdfast_example:YoungestFirst --trust")
    assert (tmp_path / "b" / "queue-CUA-holdfast_example_YoungestFirst.png").exists()
    holdfast("fit-costs b --mechanism CUA-holdfast_example:YoungestFirst -o costs.json --trust")
    holdfast(
        "loop year.swf.gz -o loop --mechanism CUA-youngest --order aged --stochastic-share 0.3 --plan halving "
        "--known-runs 2 --rounds 2"
    )


class TestSweeps:
    """Worker processes find a plug-in by its import path and as an entry point, and no other."""

    GRID: ClassVar[dict[str, Any]] = {
        "workload": {"seeds": [0], "jobs": 150},
        "mechanisms": ["CUA-youngest", "CUA-holdfast_example:YoungestFirst"],
        "options": {"order": ["aged", "holdfast_example:AgedShortest pace=1"]},
    }

    @pytest.mark.system
    def test_entry_points_and_import_paths(self, example: Any, tmp_path: Path) -> None:
        # loky keeps its workers: those of an earlier test were started where the package was not yet installed.
        get_reusable_executor().shutdown(wait=True)
        result = run_sweep(make_sweep(**self.GRID), tmp_path / "out", workers=2).complete()
        assert result.computed == 4
        rows = [{k: v for k, v in row.items() if k.endswith("_h")} for row in result.summary]
        assert rows[0] == rows[1] == rows[2] == rows[3]
        assert run_sweep(make_sweep(**self.GRID), tmp_path / "out", workers=2).stored == 4

    def test_a_plug_in_that_is_changed_is_simulated_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        module = tmp_path / "my_changing.py"
        module.write_text("def order(job, now):\n    return -job.submit\n")
        grid = {
            "workload": {"seeds": [0], "jobs": 120}, "mechanisms": ["baseline"],
            "options": {"order": ["my_changing:order", "fcfs"]},
        }  # fmt: skip
        try:
            assert run_sweep(make_sweep(**grid), tmp_path / "out", workers=1).computed == 2
            assert run_sweep(make_sweep(**grid), tmp_path / "out", workers=1).stored == 2
            module.write_text("def order(job, now):\n    return job.nodes\n")
            with pytest.raises(InputError, match=r"my_changing\.py has changed since it was imported"):
                run_sweep(make_sweep(**grid), tmp_path / "out", workers=1)
            sys.modules.pop("my_changing")
            again = run_sweep(make_sweep(**grid), tmp_path / "out", workers=1)
            assert (again.stored, again.computed) == (1, 1)
        finally:
            sys.modules.pop("my_changing", None)

    def test_a_name_of_this_process_is_refused_before_anything_runs(self, tmp_path: Path) -> None:
        ORDERS.add("only-here", lambda job, now: 0)
        try:
            grid = {"workload": {"seeds": [0], "jobs": 100}, "options": {"order": "only-here"}}
            with pytest.raises(InputError, match="the order only-here was added in this process only, and the workers"):
                run_sweep(make_sweep(**grid), tmp_path / "out")
        finally:
            ORDERS.forget("only-here")
        assert not (tmp_path / "out").exists()

    def test_a_worker_with_other_sources_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from dataclasses import replace

        from holdfast.experiments.sweeps.grid import expand
        from holdfast.experiments.sweeps.simulations import simulate_run

        monkeypatch.chdir(tmp_path)
        (tmp_path / "my_elsewhere.py").write_text("def order(job, now):\n    return job.submit\n")
        grid = {
            "workload": {"seeds": [0], "jobs": 50}, "mechanisms": ["baseline"],
            "options": {"order": "my_elsewhere:order"},
        }  # fmt: skip
        (run,) = expand(make_sweep(**grid))
        assert run.identity()["plugins"].keys() == {"my_elsewhere:order"}
        (plain,) = expand(make_sweep(**{**grid, "options": {"order": "fcfs"}}))
        assert "plugins" not in plain.identity()
        failed = simulate_run(replace(run, plugins=(("my_elsewhere:order", "0" * 64),)))
        assert "the sources of my_elsewhere:order have changed" in failed.error
        assert failed.trace
        assert issubclass(InputError, HoldfastError)

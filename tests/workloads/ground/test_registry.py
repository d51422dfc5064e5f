"""Plug-ins by name, by import path, and from installed packages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from holdfast.policies.backfilling import BACKFILLING, Easy, backfilling
from holdfast.policies.mechanism import parse_mechanism
from holdfast.policies.order import ORDERS, Order
from holdfast.policies.port import SystemView, WaitingJob
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.registry import Registry, check_function, function_adapter, plugin_parameters
from holdfast.workloads.logs.readers import READERS
from tests.places import ROOT

MODULE = '''
from dataclasses import dataclass

def longest(job, now):
    """Longest request first."""
    return -job.walltime

@dataclass(frozen=True)
class Aged:
    """Older jobs first, by a weight."""
    weight: float = 1.0
    def __call__(self, job, now):
        return -self.weight * (now - job.submit)

@dataclass(frozen=True)
class Typed:
    pace: float = 1.0
    least: "int | str" = 0
    now: bool = False
    def __call__(self, job, now):
        return (self.pace * job.walltime, self.least, self.now)

@dataclass(frozen=True)
class Paced:
    pace: float
    late: bool
    least: float = 0.0
    def __call__(self, job, now):
        return (self.pace * job.walltime, self.late, self.least)

class Needy:
    def __init__(self, value):
        self.value = value

number = 7
'''


@dataclass(frozen=True)
class _Weighted:
    """By submit times a weight."""

    weight: float = 1.0

    def __call__(self, job: WaitingJob, now: int) -> float:
        return self.weight * job.submit


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A plug-in module in the current directory, and a package beside it that only its metadata make installed."""
    (tmp_path / "my_orders.py").write_text(MODULE)
    (tmp_path / "my_broken.py").write_text("import no_such_thing_anywhere")
    info = tmp_path / "site" / "mine-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[holdfast.orders]\naged-first = my_orders:Aged\nbroken = my_broken:order\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield "my_orders"
    for name in ("my_orders", "my_broken"):
        sys.modules.pop(name, None)


def test_a_plugin_of_the_current_directory_by_its_import_path(module: str) -> None:
    order = ORDERS[f"{module}:longest"]
    assert isinstance(order, Order)
    assert not order.static
    assert order.key.__doc__ == "Longest request first."


def test_a_class_is_made_with_its_defaults_and_its_fields_are_parameters(module: str) -> None:
    assert ORDERS[f"{module}:Aged"].key.weight == 1.0  # type: ignore[attr-defined]
    assert ORDERS[f"{module}:Aged weight=0.5"].key.weight == 0.5  # type: ignore[attr-defined]


def test_a_parameter_without_a_default_is_given_after_the_name(module: str) -> None:
    key = ORDERS[f"{module}:Paced least=1 pace=2 late=true"].key
    assert (key.pace, key.late, key.least) == (2, True, 1)  # type: ignore[attr-defined]


def test_a_parameter_takes_the_texts_that_its_type_names(module: str) -> None:
    key = ORDERS[f"{module}:Typed pace=2 least=all now=true"].key
    assert (key.pace, key.least, key.now) == (2, "all", True)  # type: ignore[attr-defined]


def test_an_entry_point_is_found_by_its_name(module: str) -> None:
    assert ORDERS["aged-first weight=2"].key.weight == 2  # type: ignore[attr-defined]
    listing = ORDERS.listing()
    assert listing["aged-first"] == "Older jobs first, by a weight."
    assert "cannot be imported" in listing["broken"]
    assert "fcfs" in listing


def test_the_current_directory_is_no_module_path_afterwards(module: str) -> None:
    before = list(sys.path)
    _ = ORDERS[f"{module}:longest"]
    assert sys.path == before


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        ("fcsf", UnknownNameError, "unknown order 'fcsf': did you mean fcfs"),
        ("aged-frist", UnknownNameError, "did you mean aged-first"),
        ("", UnknownNameError, "unknown order ''"),
        ("no_such_module_here:x", InputError, "cannot be imported: there is no module 'no_such_module_here'"),
        ("my_orders.py", UnknownNameError, "; one of your own is given as module:name"),
        ("my_orders.py:longest", InputError, "a module is named without .py, as my_orders:name"),
        ("my_broken:x", InputError, "there is no module 'no_such_thing_anywhere'"),
        ("my_orders:longets", UnknownNameError, "did you mean longest"),
        ("my_orders:", InputError, "must be given as module:name"),
        ("my_orders:number", InputError, "an order must be a function"),
        ("my_orders:Paced pace=2", InputError, "order 'my_orders:Paced' needs late=VALUE after its name"),
        ("my_orders:Paced pace=fast late=true", ParameterError, "pace must be a number from"),
        ("my_orders:Paced pace=2 late=2", ParameterError, "late must be true or false, not '2'"),
        ("my_orders:Paced pace late=true", ParameterError, "pace must be given as name=value"),
        ("my_orders:Paced pace=2 late=true pase=3", UnknownNameError, "unknown parameter of the order"),
        ("my_orders:Needy", InputError, "cannot be made without values for its parameters: value; each must have a"),
        ("my_orders:Typed pace=fast", ParameterError, "pace must be a number from -1e+100 to 1e+100, not 'fast'"),
        ("my_orders:Typed now=yes", ParameterError, "now must be true or false, not 'yes'"),
        ("my_orders:longest x=1", InputError, "has no parameters"),
        ("my_orders:Aged wieght=1", UnknownNameError, "did you mean weight"),
        ("my_orders:Aged weight", ParameterError, "weight must be given as name=value"),
        ("fcfs static=true", InputError, "has no parameters"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(module: str, text: str, kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind) as caught:
        _ = ORDERS[text]
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "two words", "a:b"])
def test_a_name_is_a_word(name: str) -> None:
    with pytest.raises(ParameterError):
        Registry[object]("thing").add(name, object())


def test_what_is_no_plugin_is_not_added() -> None:
    registry: Registry[object] = Registry("thing", adapt=function_adapter("nothing"))
    with pytest.raises(InputError, match="thing 'seven': must be a function of nothing, not of the type int"):
        registry.add("seven", 7)
    assert not len(registry)


def test_what_is_built_in_is_not_replaced() -> None:
    with pytest.raises(ParameterError, match="name must be one that no built-in order has, not 'fcfs'"):
        ORDERS.add("fcfs", lambda job, now: 0)
    ORDERS.add("of-this-test", lambda job, now: 0)
    ORDERS.add("of-this-test", lambda job, now: 1)
    try:
        assert ORDERS["of-this-test"].key(None, 0) == 1  # type: ignore[arg-type]
        assert ORDERS.only_here("of-this-test")
        assert not ORDERS.only_here("fcfs")
        assert not ORDERS.only_here("")
    finally:
        ORDERS.forget("of-this-test")


def test_parameters_are_those_of_the_plugin_not_of_its_wrapping() -> None:
    registry: Registry[Order] = Registry("order", adapt=lambda plugin: Order(plugin))
    registry.add("weighted", _Weighted)
    assert registry["weighted weight=3"].key == _Weighted(3)
    assert plugin_parameters(_Weighted(2.0)) == {"weight": 2.0}
    assert registry.listing() == {"weighted": "By submit times a weight."}


def test_a_rule_judges_by_walltime_or_runtime_if_it_can() -> None:
    assert backfilling("easy", "runtime") == Easy("runtime") == BACKFILLING["easy length=runtime"]
    with pytest.raises(ParameterError, match="length must be walltime or runtime, not 'area'"):
        _ = BACKFILLING["easy length=area"]

    def nobody(view: SystemView) -> list[object]:
        return []

    BACKFILLING.add("nobody-at-all", nobody)
    try:
        with pytest.raises(ParameterError, match="backfill_length"):
            backfilling("nobody-at-all", "runtime")
    finally:
        BACKFILLING.forget("nobody-at-all")


def test_a_mechanism_may_name_plugins(module: str) -> None:
    (Path.cwd() / "my_orders.py").write_text(
        MODULE
        + "\nclass Last:\n    def room(self, view, request): return 0\n"
        + "    def make_room(self, view, request, missing): return []\n"
    )
    mechanism = parse_mechanism("cua-my_orders:Last")
    assert mechanism is not None
    assert (mechanism.notice, mechanism.arrival) == ("CUA", "my_orders:Last")
    assert parse_mechanism(mechanism.name) == mechanism == parse_mechanism(mechanism.name)
    with pytest.raises(InputError, match="has the methods room and make_room"):
        parse_mechanism("cua-my_orders:number")


def test_a_format_may_be_a_plugin(tmp_path: Path) -> None:
    (tmp_path / "my_format.py").write_text(
        "from holdfast.workloads.logs.swf import parse_swf\n"
        "def parse(text, path, *, lenient, procs_per_node):\n"
        "    return parse_swf(text.replace('|', ' '), path, lenient=lenient, procs_per_node=procs_per_node)\n"
    )
    (tmp_path / "log.bar").write_text("1|0|0|10|4|-1|-1|4|20|-1|1|1|1|-1|1|-1|-1|-1\n")
    words = ["run", "log.bar", "--format", "my_format:parse", "--nodes", "4", "--mechanism", "baseline", "-o", "out"]
    code = f"import sys; from holdfast.experiments.cli import main; sys.exit(main({words!r}))"
    root = ROOT
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(root), "PATH": ""}, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "out" / "jobs-baseline.csv").read_text().count("\n") == 2
    assert "swf" in READERS


class Several:
    """A plug-in with functions of all kinds."""

    def __call__(self, view: object, job: object) -> None: ...

    def method(self, view: object) -> None: ...

    @classmethod
    def for_class(cls, view: object) -> None: ...

    @staticmethod
    def static(view: object) -> None: ...


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (Several(), 2),
        (Several().method, 1),
        (Several.for_class, 1),
        (Several().static, 1),
        (partial(Several().method), 1),
        (Several, 0),
    ],
)
def test_arguments_are_counted_for_every_kind_of_function(function: Any, count: int) -> None:
    for _ in range(2):  # the second answer comes from a cache
        check_function(function, *["an argument"] * count)
        with pytest.raises(InputError, match="takes other arguments"):
            check_function(function, *["an argument"] * (count + 1))

"""Text becomes a number in one place: no option, cell or configuration reads 1_6 as 16."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments.commands import loop
from holdfast.experiments.option_parser import Reader
from holdfast.experiments.planning.plan_inputs import make_distribution, read_runs
from holdfast.experiments.sweeps.aggregates import filter_rows
from holdfast.policies.planning.plan_choices import _level
from holdfast.workloads.distributions.checks import positive
from holdfast.workloads.ground import parameters
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.numbers import decimal, integer
from holdfast.workloads.ground.parameters import declared_parameters
from holdfast.workloads.ground.text_cells import number, whole
from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.hybrid.parameter_parsing import option_value
from holdfast.workloads.logs.trace import trace_epoch
from holdfast.workloads.table.memory_profile import memory_profile
from tests.places import PACKAGES
from tests.support.sources import syntax_tree

ROOT = Path(__file__).parents[3]
#: Conversions of texts that are known to be plain: checked as a whole before, or made by this program.
PLAIN = {
    "workloads/ground/numbers.py": "the gate",
    "workloads/logs/swf_records.py": "checked field by field",
    "workloads/table/columns.py": "a column without underscores",
    "simulator/results/schema.py": "cells of digits, by a pattern",
    "workloads/ground/text_cells.py": "a float that is a whole number",
    "workloads/fits/estimation.py": "numbers of SciPy",
    "simulator/machine/queue_columns.py": "numbers of numpy",
    "experiments/study/cost_log.py": "numbers of JSON that the study has written",
    "experiments/slurm/live_replay.py": "output of date and sbatch",
}


@pytest.mark.parametrize("text", ["1_6", "1_000.5", "1__0", "١٢", "_1", "1_"])
def test_the_gate_refuses_what_python_alone_reads(text: str) -> None:
    for read in (integer, decimal, lambda cell: whole(cell, "cell"), lambda cell: number(cell, "cell")):
        with pytest.raises(ValueError):
            read(text)


def _reader(kind: type[Any], name: str) -> Reader:
    return next(Reader(item, None) for item in declared_parameters(kind) if item.name == name)


def _options() -> Iterator[Callable[[], Any]]:
    yield lambda: parameters.whole("1_6", "--nodes")
    yield lambda: parameters.number("1_6", "--nodes")
    yield lambda: parameters.share("0_0.5", "--share")
    yield lambda: parameters.duration("1_0h", "--walltime")
    yield lambda: _reader(loop.Arguments, "classes").read("1_6,32")
    yield lambda: option_value(Assignment, "min_share", "0.0_5")
    yield lambda: option_value(Assignment, "shares", "0_1,0,0")
    yield lambda: make_distribution("weibull", {"shape": "1_2", "scale": "3h"})
    yield lambda: _level("quantile q=0.9_5")
    yield lambda: positive("mean", "1_6")  # type: ignore[arg-type]
    yield lambda: memory_profile("1_0:3")
    yield lambda: _reader(loop.Arguments, "nodes").read("1_6")


@pytest.mark.parametrize("read", list(_options()))
def test_options_refuse_underscores(read: Callable[[], Any]) -> None:
    with pytest.raises((InputError, ValueError)):
        read()


def test_runtimes_and_headers_and_selections(tmp_path: Path) -> None:
    runs = tmp_path / "runs.txt"
    runs.write_text("1_6\n")
    with pytest.raises(InputError, match=r"runs\.txt:1"):
        read_runs(runs)
    assert trace_epoch({"UnixStartTime": "1_600_000_000"}, 0.0) is None
    rows: list[dict[str, Any]] = [{"nodes": 16}]
    with pytest.raises(InputError):
        filter_rows(rows, ["nodes=1_6"])


class _Guarded(ast.NodeVisitor):
    """Calls of int() and float() whose ValueError is caught: they read text."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._depth = 0

    def visit_Try(self, node: ast.Try) -> None:
        guards = any(handler.type is None or "ValueError" in ast.dump(handler.type) for handler in node.handlers)
        self._depth += guards
        for part in node.body:
            self.visit(part)
        self._depth -= guards
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_Call(self, node: ast.Call) -> None:
        names = [node.func, *node.args[:1]] if ast.unparse(node.func) == "map" else [node.func]
        if self._depth and any(isinstance(name, ast.Name) and name.id in ("int", "float") for name in names):
            self.found.append(f"{node.lineno}: {ast.unparse(node)}")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        # A choice by isinstance() has sent texts elsewhere.
        if "isinstance" not in ast.dump(node.test):
            self.generic_visit(node)


def test_no_other_place_converts_text() -> None:
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name not in PLAIN and not name.startswith(("experiments/papers/", "experiments/beyond/")):
                text = path.read_text(encoding="utf-8")
                # Without one of these words, no handler is a guard.
                if "ValueError" in text or "except:" in text:
                    visitor = _Guarded()
                    visitor.visit(syntax_tree(text))
                    found += [f"{name}:{line}" for line in visitor.found]
    assert found == []

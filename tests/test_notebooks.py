"""The notebooks run from the first cell to the last, and no cell shows more than a screen or two."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot

import holdfast as hf
from tests.places import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
#: Most characters that a cell shows as text and as HTML.
MOST_TEXT, MOST_HTML = 6_000, 200_000


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """What a notebook registers and draws is gone with it."""
    yield
    pyplot.close("all")
    if hf.ORDERS.only_here("patient"):
        hf.ORDERS.forget("patient")


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line, if that is an expression without a semicolon."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return None if source.rstrip().endswith(";") else value


@pytest.mark.system
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert path.read_text() == json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "as Jupyter writes it"
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(notebook["cells"], start=1):
        assert cell["id"] == f"{path.stem}-{number:02d}"
        if cell["cell_type"] == "markdown":
            continue
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
        value = run_cell("".join(cell["source"]), names)
        assert len(capsys.readouterr().out) < MOST_TEXT
        if value is not None:
            assert len(repr(value)) < MOST_TEXT
            html = getattr(value, "_repr_html_", None)
            assert html is None or len(html()) < MOST_HTML
    assert not list(tmp_path.iterdir())


def test_every_notebook_is_linked() -> None:
    index = (ROOT / "docs" / "tutorials" / "index.md").read_text()
    assert len(NOTEBOOKS) == 3
    assert all(f"(../notebooks/{path.name})" in index for path in NOTEBOOKS)

"""The documentation is true: its Python runs, its links lead somewhere, every command and option is in it."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from experiments.cli import COMMANDS
from policies.mechanism import MECHANISMS
from policies.tenancy import TENANCIES
from tests.test_architecture import MODULES, name_of

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, page.name, "exec"), names)
    if page == ROOT / "README.md":
        assert {"result", "shortest_first"} <= set(names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_readme_shows_the_commands_of_the_makefile() -> None:
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake (\w+)", readme):
        if f"make {target}" in readme and target not in ("and",):
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_every_command_has_a_page() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    for command in COMMANDS:
        assert f"## holdfast {command}" in text, command


def test_every_option_of_the_model_is_explained() -> None:
    text = (ROOT / "docs" / "model.md").read_text()
    from dataclasses import fields

    from simulator.options import Options

    for field in fields(Options):
        if field.name != "order":
            assert f"`{field.name}`" in text, field.name
    assert all(f"`{name}`" in text for name in TENANCIES)
    assert all(mechanism.notice in text and mechanism.arrival in text for mechanism in MECHANISMS)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_docstring_examples(path: Path) -> None:
    module = importlib.import_module(name_of(path))
    assert module.__doc__, "a module says what its one idea is"
    assert doctest.testmod(module).failed == 0

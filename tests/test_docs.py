"""The documentation is true: its Python runs, its links lead somewhere, every command and option is in it."""

from __future__ import annotations

import argparse
import ast
import doctest
import importlib
import importlib.util
import re
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from matplotlib.image import imread

from holdfast.experiments.cli import COMMANDS, command_parser
from holdfast.experiments.commands.catalogue import KINDS
from holdfast.policies.mechanism import MECHANISMS
from holdfast.policies.reserved_backfill import TENANCIES
from holdfast.workloads.fits import selection
from holdfast.workloads.fits.parametric import fit_usual
from tests.documentation.blocks import blocks_of, commands, comparable
from tests.documentation.given import provide
from tests.documentation.session import NOT_RUN, PAGES, ROOT, Session, excuse_of, read_through
from tests.places import PACKAGES
from tests.support.sketching import sketches
from tests.support.sources import syntax_tree
from tests.test_architecture import MODULES, name_of

pytestmark = pytest.mark.pictures("png")


def name_of_page(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


#: A page is a session of many commands; that of the newcomers is tried at every save.
SESSIONS = [page if page.name == "README.md" else pytest.param(page, marks=pytest.mark.system) for page in PAGES]


@pytest.fixture
def as_it_was() -> Iterator[None]:
    """What a page adds to a registry is gone with the page."""
    yield
    for kind in KINDS.values():
        for name in list(kind.registry):
            if kind.registry.only_here(name):
                kind.registry.forget(name)


@pytest.mark.system
@pytest.mark.usefixtures("as_it_was")
@pytest.mark.parametrize("page", SESSIONS, ids=name_of_page)
def test_blocks_run_and_print_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    provide(page)
    if page.name == "README.md":
        # It shows nothing of the 27 usual distributions that it fits.
        two = partial(fit_usual, names=("lognorm", "norm"))
        monkeypatch.setattr(selection, "METHODS", {**selection.METHODS, "usual": two, "usual-least-squares": two})
    shows = any(block.kind == "picture" for block in blocks_of(page))
    with nullcontext() if shows else sketches():
        check(page)


def check(page: Path) -> None:
    for block, printed in read_through(Session(page)):
        place = (
            f"{page.name}:{block.first + 1}; `python -m tests.documentation {page.relative_to(ROOT)}` renews the page"
        )
        if printed is not None:
            assert comparable(block.text) == comparable(printed), place
        if block.kind == "picture":
            assert block.file is not None
            assert same_picture(page.parent / block.file, Path(block.text)), place


def same_picture(shown: Path, drawn: Path) -> bool:
    """Whether two pictures are of one size and differ in no more than the rendering of lines and letters."""
    one, other = (imread(path)[..., :3] for path in (shown, drawn))
    if one.shape != other.shape:
        return False
    rows, columns = (one.shape[0] // 8 * 8, one.shape[1] // 8 * 8)
    blurred = [
        image[:rows, :columns].reshape(rows // 8, 8, columns // 8, 8, 3).mean(axis=(1, 3)) for image in (one, other)
    ]
    return bool(abs(blurred[0] - blurred[1]).mean() < 0.005)


def test_a_reason_for_every_command_that_is_not_run_and_no_other() -> None:
    needed = set()
    for page in PAGES:
        for block in blocks_of(page):
            lines = commands(block.text) if block.kind == "console" else block.text.splitlines()
            needed |= {excuse_of(name_of_page(page), line) for line in lines}
    assert needed >= set(NOT_RUN)


@pytest.mark.parametrize("page", PAGES, ids=name_of_page)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def prose_of(path: Path) -> str:
    """Docstrings and comments of a module, without line breaks."""
    source = path.read_text()
    nodes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [ast.get_docstring(node) or "" for node in ast.walk(syntax_tree(source)) if isinstance(node, nodes)]
    return " ".join(" ".join([*docstrings, *re.findall(r"#:? (.*)", source)]).split())


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_docstrings_and_comments_cite_pages_and_sections_that_are_there(package: str) -> None:
    wrong = []
    for path in (ROOT / package).rglob("*.py"):
        if ".md" not in path.read_text():
            continue
        for page, rest in re.findall(
            r"([\w./-]+\.md)\b((?:,? (?:and )?\"[^\"]+\"|, parameter ``\w+``)*)", prose_of(path)
        ):
            text = (ROOT / page).read_text() if (ROOT / page).is_file() else ""
            sections = [f"# {title.strip(',')}\n" for title in re.findall(r'"([^"]+)"', rest)]
            parameters = [f"| `{name}` |" for name in re.findall(r"``(\w+)``", rest)]
            wrong += [f"{path}: {page} {item}" for item in ("", *sections, *parameters) if not text or item not in text]
    assert not wrong


def test_readme_shows_the_commands_of_the_makefile() -> None:
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake (\w+)", readme):
        if f"make {target}" in readme and target not in ("and",):
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_every_command_has_a_page() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    for command in COMMANDS:
        assert f"## holdfast {command}" in text, command


def test_the_generated_reference_explains_every_option_of_a_command() -> None:
    spec = importlib.util.spec_from_file_location("options", ROOT / "docs" / "_extensions" / "options.py")
    assert spec is not None
    assert spec.loader is not None
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    for command in COMMANDS:
        for parser in parsers_below(command_parser(command)):
            lines = list(reference.options(parser))
            for action in parser._actions:
                for name in action.option_strings if action.dest != "help" else ():
                    at = next(at for at, line in enumerate(lines) if re.search(rf"^``.*{name}[ `]", line))
                    assert lines[at + 1].strip(" \\"), f"{parser.prog} {name}"
    assert any("holdfast slurm lab" in line for line in reference.options(command_parser("slurm")))


def parsers_below(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its subcommands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from parsers_below(inner)


def test_every_option_of_the_model_is_explained() -> None:
    text = (ROOT / "docs" / "model.md").read_text()
    from dataclasses import fields

    from holdfast.simulator.options import Options

    for field in fields(Options):
        if field.name != "order":
            assert f"`{field.name}`" in text, field.name
    assert all(f"`{name}`" in text for name in TENANCIES)
    assert all(mechanism.notice in text and mechanism.arrival in text for mechanism in MECHANISMS)


#: Most words of the README and all pages, as ``wc -w README.md docs/*.md docs/*/*.md`` counts them.
MOST_WORDS = 55_000
#: Most words of the pages about experiments.
MOST_WORDS_OF_EXPERIMENTS = 14_500


def test_pages_about_experiments_stay_below_a_number_of_words() -> None:
    pages = (ROOT / "docs" / "experiments").glob("*.md")
    assert sum(len(page.read_text().split()) for page in pages) <= MOST_WORDS_OF_EXPERIMENTS


def test_all_pages_stay_below_a_number_of_words() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("[!_]*/*.md")]
    words = {page: len(page.read_text().split()) for page in pages if "api" not in page.parts}
    assert sum(words.values()) <= MOST_WORDS, sorted(words.items(), key=lambda item: -item[1])[:5]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_docstring_examples(path: Path) -> None:
    module = importlib.import_module(f"holdfast.{name_of(path)}")
    assert module.__doc__, "a module says what its one idea is"
    if ">>>" in path.read_text():  # the search for examples takes 10 ms of each module
        assert doctest.testmod(module).failed == 0

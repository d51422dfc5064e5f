"""The layout of the house: imports in one direction, no cycles, heavy libraries only where they are used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.places import PACKAGES as LAYERS
from tests.places import ROOT
from tests.support.sources import syntax_tree

#: The packages are imported below this one; their names here are without it.
TOP = "holdfast."
#: The folders and single modules of each package; each imports only those on its left.
ROOMS = {
    "workloads": (
        "ground",
        "distributions",
        "chains",
        "fits",
        "machines",
        "table",
        "logs",
        "requests",
        "outages",
        "theta",
        "hybrid",
    ),
    "simulator": (
        "options",
        "machine",
        "services",
        "clock",
        "resources",
        "shared_nodes",
        "results",
        "static_orders",
        "plain_starts",
        "plain_replay",
        "fast_starts",
        "machine_rules",
        "machine_simulation",
        "partitioned_simulation",
        "shared_simulation",
        "collector_pause",
        "drawn_failures",
        "machine_results",
        "engine_results",
        "streaming",
        "simulation",
        "start_times",
        "stepping",
        "conformance",
    ),
    "experiments": (
        *(
            "statistics",
            "paper_readings",
            "terminal",
            "crashes",
            "tables",
            "output",
            "recordings",
            "timelines",
            "placement",
            "traces",
            "sweeps",
            "planning",
            "forecast",
            "slurm",
            "learning",
            "whatif",
        ),
        *("stories", "figures", "exports", "gantt", "study", "papers", "beyond", "option_parser", "cli", "commands"),
    ),
}
MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))


@dataclass(frozen=True)
class Source:
    """What the tests ask of a file: its whole tree would burden every garbage collection after it."""

    #: Imports, those inside functions and under TYPE_CHECKING too.
    imports: Sequence[ast.Import | ast.ImportFrom]
    #: String literals without a blank.
    words: Sequence[str]
    #: Attributes with an underscore in front, each with the first name of what it is taken from.
    private: Sequence[tuple[str, str]]
    classes: Sequence[str]
    #: Names in ``__all__``; None without one.
    offered: frozenset[str] | None


@cache
def source_at(path: Path) -> Source:
    tree = syntax_tree(path)
    imports: list[ast.Import | ast.ImportFrom] = []
    words, private = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and " " not in node.value:
                words.append(node.value)
        elif isinstance(node, ast.Attribute) and node.attr[0] == "_":
            private.append((ast.unparse(node.value).partition(".")[0], node.attr))
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    offers = [
        frozenset(ast.literal_eval(node.value))
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    return Source(imports, words, private, classes, offers[0] if offers else None)


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in MODULES}


def module_of(node: ast.ImportFrom) -> str:
    """The module that an import names, without the package above ours."""
    return (node.module or "").removeprefix(TOP)


def test_no_import_goes_around_the_package() -> None:
    # ruff keeps each import of a module on a line of its own.
    around = re.compile(rf"^\s*(?:from|import) +(?:{'|'.join(LAYERS)})\b", re.MULTILINE)
    for path in [*MODULES, *(ROOT / "tests").rglob("*.py")]:
        if around.search(text := path.read_text()):
            # The line may be a part of a literal.
            for node in ast.walk(syntax_tree(text)):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [item.name for item in node.names] if isinstance(node, ast.Import) else []
                assert not {name.partition(".")[0] for name in names} & set(LAYERS), path


@cache
def imports_of(path: Path) -> set[str]:
    """Modules that a file imports, those inside functions and under TYPE_CHECKING too."""
    found: set[str] = set()
    for node in source_at(path).imports:
        if isinstance(node, ast.Import):
            found |= {alias.name.removeprefix(TOP) for alias in node.names}
        elif node.module:
            module = node.module.removeprefix(TOP)
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_one_way(layer: str) -> None:
    higher = LAYERS[LAYERS.index(layer) + 1 :]
    for path in (ROOT / layer).rglob("*.py"):
        above = [name for name in imports_of(path) if name.split(".")[0] in higher]
        assert not above, f"{name_of(path)} imports {above}, which stand above it"


@cache
def known_imports(path: Path) -> set[str]:
    """Our own modules and packages that a file imports, a module by its own name alone."""
    found: set[str] = set()
    for node in source_at(path).imports:
        if isinstance(node, ast.Import):
            found |= {alias.name.removeprefix(TOP) for alias in node.names} & NAMES
        elif (module := module_of(node)) in NAMES:
            names = {f"{module}.{alias.name}" for alias in node.names}
            found |= names & NAMES or {module}
    # A module named as ``module:name`` is imported when it is needed.
    later = {word.partition(":")[0].removeprefix(TOP) for word in source_at(path).words if word.count(":") == 1}
    return found | (later & NAMES)


def room_of(name: str) -> str:
    """The second part of a module's name: its folder in a package, or itself; empty for the package."""
    return name.partition(".")[2].partition(".")[0]


@pytest.mark.parametrize("layer", ROOMS)
def test_every_folder_has_its_place(layer: str) -> None:
    assert set(ROOMS[layer]) == {room_of(name) for name in NAMES if name.startswith(f"{layer}.")}


@pytest.mark.parametrize("layer", ROOMS)
def test_folders_import_in_one_direction(layer: str) -> None:
    rooms = ROOMS[layer]
    for path in (ROOT / layer).rglob("*.py"):
        room = room_of(name_of(path))
        if room:
            inside = [name for name in known_imports(path) if name.startswith(f"{layer}.")]
            above = [name for name in inside if rooms.index(room_of(name)) > rooms.index(room)]
            assert not above, f"{name_of(path)} imports {above}, which stand above it"


def rooms_below(layer: str) -> dict[str, set[str]]:
    """The folders that each folder of a package imports."""
    below: dict[str, set[str]] = {room: set() for room in ROOMS[layer]}
    for path in (ROOT / layer).rglob("*.py"):
        room = room_of(name_of(path))
        if room:
            below[room] |= {room_of(name) for name in known_imports(path) if name.startswith(f"{layer}.")} - {room}
    return below


def test_the_house_has_few_floors() -> None:
    below = rooms_below("experiments")
    floors: dict[str, int] = {}
    for room in TopologicalSorter(below).static_order():
        floors[room] = 1 + max((floors[other] for other in below[room]), default=0)
    assert max(floors.values()) <= 9


def test_figures_draw_from_tables_and_recordings() -> None:
    drawn = {"recordings", "timelines", "placement", "traces", "tables"}
    assert rooms_below("experiments")["figures"] <= drawn | {"statistics", "output"}


def test_the_report_stands_on_the_study() -> None:
    for path in (ROOT / "experiments" / "study").glob("*.py"):
        assert not [name for name in known_imports(path) if name.startswith("experiments.study.report.")], path


@cache
def public_names(module: str) -> set[str]:
    """The names in ``__all__`` of a module; without one, all of them."""
    path = ROOT / module.replace(".", "/")
    source = source_at(path / "__init__.py" if path.is_dir() else path.with_suffix(".py"))
    if source.offered is not None:
        return set(source.offered)
    return {alias.asname or alias.name for node in source.imports for alias in node.names}


def test_other_folders_use_public_names() -> None:
    """What starts with an underscore, or is absent from ``__all__``, is of its folder alone."""
    for path in MODULES:
        own = name_of(path).rpartition(".")[0] if path.stem != "__init__" else name_of(path)
        for node in source_at(path).imports:
            module = module_of(node) if isinstance(node, ast.ImportFrom) else ""
            if not isinstance(node, ast.ImportFrom) or module not in NAMES or module.startswith(own):
                continue
            for alias in node.names:
                public = f"{module}.{alias.name}" in NAMES or alias.name in public_names(module)
                assert public, f"{name_of(path)} imports {alias.name} of {module}, which does not offer it"
            assert not any(part.startswith("_") for part in module.split(".")), name_of(path)


def test_what_is_named_as_module_and_name_is_there() -> None:
    for path in MODULES:
        for name in source_at(path).words:
            if name.partition(":")[0].removeprefix(TOP) in NAMES:
                # A bare name may be a word, such as that of a folder; one below our package is a module.
                assert (":" not in name and not name.startswith(TOP)) or resolve_name(name), path


@pytest.mark.parametrize("layer", LAYERS)
def test_no_class_stands_for_two_things(layer: str) -> None:
    # Each command declares its options in a class of the same name.
    paths = [path for path in MODULES if path.relative_to(ROOT).parts[0] == layer]
    classes = [name for path in paths for name in source_at(path).classes]
    public = [name for name in classes if not name.startswith("_") and name != "Arguments"]
    assert not [name for name, times in Counter(public).items() if times > 1]


def test_no_import_cycles() -> None:
    # Imports inside functions and under TYPE_CHECKING count: they tie modules together as well. The command line and
    # the demo call each other by name, as a shell would.
    graph = {name_of(path): imports_of(path) & NAMES - {name_of(path)} for path in MODULES}
    graph["experiments.commands.demo"].discard("experiments.cli")
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("layer", ["workloads", "policies"])
def test_policies_and_workloads_know_no_simulation(layer: str) -> None:
    for path in (ROOT / layer).rglob("*.py"):
        assert not {name.split(".")[0] for name in imports_of(path)} & {"simpy", "matplotlib"}, path


@pytest.mark.system
@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("holdfast.simulator", ("pandas", "matplotlib", "scipy")),
        ("holdfast.experiments.cli", ("numpy", "pandas", "matplotlib", "simpy", "scipy")),
        ("holdfast.experiments.commands.run", ("pandas", "matplotlib", "scipy")),
        ("holdfast.experiments.sweeps", ("pandas", "matplotlib", "scipy", "loky", "cattrs", "distributed", "pyarrow")),
    ],
)
def test_heavy_libraries_wait_until_they_are_used(module: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*[name for name in {heavy!r} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert not shown.split()


#: Documented in spite of their underscore: those of named tuples, of :mod:`os` and of :mod:`sys`.
_DOCUMENTED = {"_asdict", "_fields", "_make", "_replace", "_exit", "_getframe"}


def test_private_names_of_libraries_are_not_used() -> None:
    found = []
    for path in MODULES:
        source, libraries = source_at(path), _libraries(path)
        names = [name for root, name in source.private if root in libraries]
        for node in source.imports:
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] not in (
                "holdfast",
                "__future__",
            ):
                names += [alias.name for alias in node.names]
        found += [f"{name_of(path)}: {name}" for name in names if name[0] == "_" != name[1] and name not in _DOCUMENTED]
    assert not found


def _libraries(path: Path) -> set[str]:
    """Names under which a file knows modules, classes and functions of libraries."""
    return {
        alias.asname or alias.name.partition(".")[0]
        for node in source_at(path).imports
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] != "holdfast"
    }

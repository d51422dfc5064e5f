"""The layout of the house: imports in one direction, no cycles, heavy libraries only where they are used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.places import ROOT

#: A package imports only packages on its left.
LAYERS = ("workloads", "policies", "simulator", "experiments")
#: The folders and single modules of each package; each imports only those on its left.
ROOMS = {
    "workloads": ("ground", "laws", "chains", "fits", "table", "logs", "outages", "theta", "hybrid"),
    "simulator": (
        "options",
        "kernels",
        "machine",
        "services",
        "clock",
        "results",
        "plainreplay",
        "simulation",
        "sketch",
        "prospects",
        "streaming",
        "stepping",
        "conformance",
    ),
    "experiments": (
        *(
            "statistics",
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
        ),
        *("stories", "figures", "exports", "gantt", "study", "papers", "beyond", "cli", "commands"),
    ),
}
MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> Sequence[ast.Import | ast.ImportFrom | ast.Constant]:
    """The imports and the texts of a file, wherever they stand."""
    return [
        node
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in MODULES}


@cache
def imports_of(path: Path) -> set[str]:
    """Modules that a file imports, those inside functions and under TYPE_CHECKING too."""
    found: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
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
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & NAMES
        elif isinstance(node, ast.ImportFrom) and node.module in NAMES:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & NAMES or {node.module}
        elif isinstance(node, ast.Constant) and str(node.value).count(":") == 1:
            # A module named as ``module:name`` is imported when it is needed.
            found |= {str(node.value).partition(":")[0]} & NAMES
    return found


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


def face_of(folder: str) -> set[str]:
    """The modules of a folder that its docstring offers to others; the folder itself if it has names of its own."""
    tree = tree_of(ROOT / folder.replace(".", "/") / "__init__.py")
    offer = re.search(r"Other folders use (.*?)\.\Z", ast.get_docstring(tree) or "", re.DOTALL)
    offered = {f"{folder}.{name}" for name in re.findall(r"``([\w.]+)``", offer[1])} if offer else set()
    return offered | {folder} if offer and "own names" in offer[1] else offered


def test_nothing_reaches_past_the_face_of_a_folder() -> None:
    folders = {name for name in NAMES if name.count(".") == 1 and (ROOT / name.replace(".", "/")).is_dir()}
    used: dict[str, set[str]] = {folder: set() for folder in folders}
    for path in [*MODULES, ROOT / "holdfast.py"]:
        own = ".".join(name_of(path).split(".")[:2])
        for name in known_imports(path):
            folder = ".".join(name.split(".")[:2])
            if folder in folders and folder != own:
                used[folder].add(name)
    assert used == {folder: face_of(folder) for folder in folders}


def test_what_is_named_as_module_and_name_is_there() -> None:
    for path in MODULES:
        for node in nodes_of(path):
            if isinstance(node, ast.Constant) and str(node.value).partition(":")[0] in NAMES:
                assert node.value in NAMES or resolve_name(str(node.value)), path


#: A picture and a command bear the name of the module that works out what they show.
_SAME_IDEA = ("experiments.figures.", "experiments.commands.")


@pytest.mark.parametrize("layer", LAYERS)
def test_no_name_stands_for_two_things(layer: str) -> None:
    paths = [path for path in MODULES if path.relative_to(ROOT).parts[0] == layer and path.stem != "__init__"]
    classes = [node.name for path in paths for node in tree_of(path).body if isinstance(node, ast.ClassDef)]
    modules = [path.stem for path in paths if not name_of(path).startswith(_SAME_IDEA)]
    for names in (modules, [name for name in classes if not name.startswith("_")]):
        assert not [name for name, times in Counter(names).items() if times > 1]


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
        ("simulator", ("pandas", "matplotlib", "scipy")),
        ("experiments.cli", ("numpy", "pandas", "matplotlib", "simpy", "scipy")),
        ("experiments.commands.run", ("pandas", "matplotlib", "scipy")),
        ("experiments.sweeps", ("pandas", "matplotlib", "scipy", "joblib", "cattrs", "distributed", "pyarrow")),
    ],
)
def test_heavy_libraries_wait_until_they_are_used(module: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*[name for name in {heavy!r} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert not shown.split()

"""The layout of the house: imports in one direction, no cycles, heavy libraries only where they are used."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: Who is imported stands left.
LAYERS = ("workloads", "policies", "simulator", "experiments")
MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path, *, lazily: bool = True) -> set[str]:
    """Modules that a file imports; without those inside functions and under TYPE_CHECKING unless ``lazily``."""
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if lazily else iter(tree.body)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    layer = LAYERS.index(path.relative_to(ROOT).parts[0])
    above = [name for name in imports_of(path) if name.split(".")[0] in LAYERS[layer + 1 :]]
    assert not above, f"{name_of(path)} imports {above}, which stand above it"


def test_no_import_cycles() -> None:
    names = {name_of(path) for path in MODULES}
    # Imports inside functions and under TYPE_CHECKING count: they tie modules together as well. The command line and
    # the demo call each other by name, as a shell would.
    graph = {name_of(path): imports_of(path) & names - {name_of(path)} for path in MODULES}
    graph["experiments.commands.demo"].discard("experiments.cli")
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("layer", ["workloads", "policies"])
def test_policies_and_workloads_know_no_simulation(layer: str) -> None:
    for path in (ROOT / layer).rglob("*.py"):
        assert not {name.split(".")[0] for name in imports_of(path)} & {"simpy", "matplotlib"}, path


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

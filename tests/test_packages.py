"""Wheel and source archive: what they contain, and that an installation works without the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from holdfast.experiments.sweeps.fingerprint import commit, source_fingerprint
from tests.places import PACKAGES, ROOT

pytestmark = pytest.mark.system

EXAMPLE = ROOT / "docs" / "examples" / "holdfast-example"
#: Tests of one module of each package, which need neither the sources nor the documentation.
TESTS = (
    "tests/workloads/table/test_job_table.py",
    "tests/policies/test_knapsack.py",
    "tests/simulator/test_scenarios.py",
    "tests/experiments/test_statistics.py",
)
#: A program as users write it: mypy must see the types of the installed package.
PROGRAM = """import holdfast as hf

trace = hf.generate(jobs=20, seed=1)
result = hf.simulate(trace, order="sjf")
reveal_type(result)
hf.generate(jobs="many")
"""


def run(words: list[str | Path], directory: Path, **variables: str) -> str:
    """Output of a program that must succeed, without the checkout on any path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    done = subprocess.run(words, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(source: Path, kind: str, place: Path) -> Path:
    """Build an archive with the interpreter of the tests; no network is needed."""
    if find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the packages, is not installed: pip install -e '.[dev]'")
    run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", place], source)
    (archive,) = place.iterdir()
    return archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "sdist", tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def install(archive: Path | str, binaries: Path) -> None:
    words = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    run([binaries / "python", "-m", "pip", *words, archive], binaries)


@pytest.fixture(scope="module")
def binaries(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of a new environment with the wheel, and with the dependencies of this one."""
    place = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(place, with_pip=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(place)}))
    # A path in a .pth file is searched, but its own .pth files are not read: the checkout stays invisible.
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    binaries = Path(sysconfig.get_path("scripts", "venv", {"base": str(place)}))
    install(wheel, binaries)
    return binaries


def test_the_wheel_has_every_module_below_holdfast(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"holdfast"}
    sources = {f"holdfast/{path.relative_to(ROOT)}" for part in PACKAGES for path in (ROOT / part).rglob("*.py")}
    sources |= {f"holdfast/{path.name}" for path in (ROOT / "holdfast").glob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources
    assert "holdfast/py.typed" in names


def test_the_archive_has_each_source_once_and_builds_the_same_wheel(archive: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as tar:
        assert not [item.name for item in tar if item.issym() or "/holdfast/simulator" in item.name]
        tar.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert {"simulator", "tests", "docs", "Makefile", "CITATION.cff"} <= {path.name for path in source.iterdir()}
    assert build(source, "wheel", tmp_path / "built").read_bytes() == wheel.read_bytes()


def test_an_installation_knows_its_sources(binaries: Path, tmp_path: Path) -> None:
    line = run([binaries / "holdfast", "--version"], tmp_path)
    assert f"(commit {commit()}, sources {source_fingerprint()})" in line


def test_the_first_result_appears_beside_folders_of_our_names(binaries: Path, tmp_path: Path) -> None:
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('this is not Holdfast')\n")
    printed = run([binaries / "holdfast", "demo", "-o", "first", "--jobs", "60"], tmp_path)
    assert "60 jobs on" in printed
    assert (tmp_path / "first" / "mechanisms.png").stat().st_size > 10_000
    place = run([binaries / "python", "-c", "import holdfast; print(holdfast.__file__)"], tmp_path)
    assert Path(place.strip()).is_relative_to(binaries.parent)


def test_tests_pass_outside_the_checkout(binaries: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    printed = run([binaries / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS], tmp_path)
    passed = re.search(r"(\d+) passed", printed)
    assert passed is not None
    assert int(passed[1]) > len(TESTS)


def test_an_installed_plug_in_is_an_entry_point(binaries: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns("__pycache__"))
    assert "holdfast-example" not in run([binaries / "holdfast", "policies", "--kind", "order"], tmp_path)
    install(str(tmp_path / "example"), binaries)
    shown = run([binaries / "holdfast", "policies", "--kind", "order"], tmp_path)
    assert re.search(r"^ *aged [^\]]*\[holdfast-example\]", shown, re.MULTILINE)
    run([binaries / "holdfast", "generate", "-o", "log.swf", "--jobs", "50"], tmp_path)
    run([binaries / "holdfast", "run", "log.swf", "-o", "aged", "--order", "aged"], tmp_path)
    assert len((tmp_path / "aged" / "jobs-baseline.csv").read_text().splitlines()) == 51


@pytest.mark.slow
def test_type_checkers_see_the_types(binaries: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = [sys.executable, "-m", "mypy", "--python-executable", binaries / "python", "--follow-imports=silent"]
    done = subprocess.run([*words, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'Revealed type is "holdfast.' in done.stdout, done.stdout + done.stderr
    assert 'program.py:6: error: Argument "jobs" to "generate" has incompatible type "str"' in done.stdout
    assert "Found 1 error" in done.stdout

"""Holdfast without any optional package: ``python -m tests.plain`` in an environment with the plain dependencies.

Each command that needs an optional package says so in one sentence with the command that installs it; everything else
works. Needs nothing but the standard library and Holdfast, and prints what it tried. ``make plain`` makes such an
environment; a test blocks the packages instead.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from tests.places import ROOT

#: What the extras of pyproject.toml bring, and the extra that says so to users.
OPTIONAL = {"SALib": "study", "gymnasium": "learn", "pyarrow": "parquet", "distributed": "cluster", "dask": "cluster"}

_SWEEP = """
mechanisms = ["baseline"]

[workload]
seeds = 0
jobs = 60
"""


def install_words(extra: str) -> str:
    """What a user is told to run."""
    return f'pip install "holdfast[{extra}]"'


def present() -> list[str]:
    """Optional packages that can be imported here."""
    found = []
    for name in OPTIONAL:
        try:
            import_module(name)
        except ImportError:
            continue
        found.append(name)
    return found


def call(words: list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of Holdfast from the checkout, in a directory."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r});"
        "from holdfast.experiments.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=directory, capture_output=True, text=True, check=False
    )


def refusals(directory: Path) -> dict[str, tuple[list[str], str]]:
    """Commands that cannot work here, by package: their words and the extra they must name."""
    (directory / "table.parquet").write_bytes(b"PAR1 and more PAR1")
    (directory / "sweep.toml").write_text(_SWEEP)
    return {
        "pyarrow, to read": (["run", "table.parquet", "-o", "read", "--nodes", "64"], "parquet"),
        "pyarrow, to write": (["export", "result", "--format", "parquet", "-o", "columns"], "parquet"),
        "distributed": (["sweep", "sweep.toml", "-o", "swept", "--backend", "dask", "--cluster", "local"], "cluster"),
    }


def check(directory: Path) -> list[str]:
    """Faults of an installation without optional packages; prints each step."""
    faults = []

    def expect(title: str, good: bool, found: subprocess.CompletedProcess[str]) -> None:
        print(f"{'ok  ' if good else 'BAD '} {title}", flush=True)
        if not good:
            faults.append(f"{title}: exit status {found.returncode}\n{found.stdout}\n{found.stderr}")

    made = call(["generate", "-o", "year.swf.gz", "--jobs", "60", "--seed", "1"], directory)
    expect("generate", made.returncode == 0, made)
    ran = call(["run", "year.swf.gz", "-o", "result", "--mechanism", "baseline", "--events"], directory)
    expect("run", ran.returncode == 0, ran)
    planned = call(["plan", "lognormal", "--mean", "21h", "--std", "20h"], directory)
    expect("plan", planned.returncode == 0, planned)
    for title, (words, extra) in refusals(directory).items():
        found = call(words, directory)
        one = found.stderr.strip().count("\n") == 0 and install_words(extra) in found.stderr
        expect(f"{title}: {found.stderr.strip()[:200]}", found.returncode == 2 and one, found)
    imported = subprocess.run(
        [sys.executable, "-c", "from holdfast.experiments.learning.environment import Environment"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    expect("gymnasium", install_words("learn") in imported.stderr, imported)
    some = ["checkpoint-intro", "checkpoint-table1", "beyond-sensitivity"]
    words = ["reproduce", "--quick", "-o", "reproduction", "--workers", "1"]
    found = call([*words, *(word for name in some for word in ("--only", name))], directory)
    last = found.stdout.strip().splitlines()[-1:]
    line = f"not run: beyond-sensitivity: it needs the package SALib; install it with {install_words('study')}"
    expect("reproduce", found.returncode == 0 and last == [line], found)
    done = {path.name for path in (directory / "reproduction").glob("*.csv")}
    kept = {"checkpoint-intro-verdicts.csv", "checkpoint-table1-verdicts.csv"} <= done
    expect("the other experiments", kept and not any(name.startswith("beyond") for name in done), found)
    expect("the report", bool(re.search("was not run", (directory / "reproduction/report.html").read_text())), found)
    return faults


def main() -> int:
    """Check this installation; 1 if something is wrong."""
    if here := present():
        print(f"this environment has {', '.join(here)}: nothing can be checked", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as directory:
        faults = check(Path(directory))
    print("\n".join(faults), file=sys.stderr)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())

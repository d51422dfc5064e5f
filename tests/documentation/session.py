"""A reader who does what a page says, in a directory of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from holdfast.experiments.cli import COMMANDS, _parser, main
from holdfast.experiments.commands.catalogue import KINDS
from tests.documentation.blocks import Block, blocks_of, commands

__all__ = ["NOT_RUN", "PAGES", "ROOT", "Session", "read_through"]

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Programs of any machine that may look at what a page has made, or write a small file for it.
LOOKS = ("cat", "cut", "grep", "head", "ls", "printf", "sort", "tail", "wc")


#: What Python is called with for a program in a pipe.
SHIMS = {
    "python": '"$@"',
    "holdfast": '-c "import sys; from holdfast.experiments.cli import main; sys.exit(main())" "$@"',
}


#: Tools that read what Holdfast writes: where they are not installed, the Python that needs them is not run.
OPTIONAL = ("evalys", "submitit")


class NotRun(NamedTuple):
    """Commands that the tests cannot run, and why; that ``holdfast`` understands them is checked all the same."""

    page: str
    command: str
    reason: str


NOT_RUN = (
    NotRun("*", "sbatch *", "needs a Slurm cluster"),
    NotRun("docs/guides/slurm.md", "holdfast slurm *", "needs a lab"),
    NotRun("docs/guides/slurm-mechanisms.md", "holdfast slurm *", "needs a lab"),
    NotRun("docs/guides/slurm-lab.md", "apt-get *", "installs"),
    NotRun("docs/guides/slurm-lab.md", "holdfast slurm lab *", "needs the packages of Slurm; make slurm starts a lab"),
    NotRun("docs/guides/slurm-lab.md", ". slurm-lab/env", "needs a lab"),
    NotRun("docs/guides/slurm-lab.md", "sinfo", "needs a lab"),
    NotRun("docs/guides/slurm-lab.md", "holdfast slurm options *", "needs a lab"),
    NotRun("docs/guides/slurm-lab.md", "holdfast slurm replay *", "needs a lab"),
    NotRun("docs/guides/slurm-lab.md", "holdfast * sacct.txt *", "needs the accounting of a lab"),
    NotRun("docs/guides/slurm-lab.md", "holdfast slurm compare replay *", "needs a replay"),
    NotRun("docs/guides/slurm-lab.md", "holdfast slurm follow *", "needs a lab"),
    NotRun("docs/guides/slurm.md", "holdfast submit * --go *", "needs a Slurm cluster"),
    NotRun("docs/guides/slurm.md", "holdfast plan --runs past.txt *", "needs runs that have ended"),
    NotRun("docs/guides/machine.md", "scontrol *", "needs a Slurm cluster"),
    NotRun("docs/guides/machine.md", "sinfo *", "needs a Slurm cluster"),
    NotRun("*", "pip install *", "installs"),
    NotRun("*", "python3 -m venv *", "installs"),
    NotRun("*", ". .venv/bin/activate", "installs"),
    NotRun("*", "SLURM_TIME_FORMAT=%s sacct *", "needs the accounting of a Slurm cluster"),
    NotRun(
        "*",
        "holdfast sweep * --backend dask *",
        "needs a cluster; tests/experiments/sweeps/test_sweep_execution.py has one",
    ),
    NotRun(
        "*",
        "holdfast reproduce*",
        "takes minutes to hours; tests/experiments/study/test_report.py runs it with small experiments",
    ),
    NotRun("*", "holdfast experiment hybrid-readings *", "takes hours; its tests run it at a small size"),
    NotRun("docs/guides/reproduce.md", "holdfast experiment * --set *", "takes as long again as the one before"),
    NotRun("docs/chains.md", "holdfast experiment *", "the measured runs are not published with Holdfast"),
)


def excuse_of(title: str, command: str) -> NotRun | None:
    """Why a command of a page is not run."""
    return next((n for n in NOT_RUN if fnmatch(title, n.page) and fnmatch(command, n.command)), None)


@dataclass
class Session:
    """A reader with a page in a directory of its own."""

    page: Path
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: str = ""

    @property
    def title(self) -> str:
        return self.page.relative_to(ROOT).as_posix()

    def command(self, line: str) -> str:
        """Run a command line, and give back what it prints."""
        words = shlex.split(line, comments=True)
        if not words:
            return ""
        excuse = excuse_of(self.title, shlex.join(words))
        if words[0] == "holdfast" and not {"|", ">"} & set(words):
            return "" if excuse and check_command(words[1:]) else in_process(words[1:])
        if excuse:
            return ""
        if words[0] == "make":
            makefile = (ROOT / "Makefile").read_text()
            assert re.search(rf"^{words[1]}:", makefile, flags=re.MULTILINE), f"no target {words[1]} in the Makefile"
            return ""
        assert words[0] in (*LOOKS, "holdfast", "python"), f"{words[0]} is no program that the tests know"
        return in_shell(line)

    def run(self, block: Block) -> str | None:
        """Do with a block what its kind asks for; the text that it should have, where that is known."""
        if block.file is not None:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text)
        if block.kind == "picture":
            assert Path(block.text).stat().st_size, f"{block.text} was not drawn"
            return None
        if block.kind == "text":
            return self.printed if block.follows else None
        self.printed = ""
        if block.kind == "python":
            code = compile(block.text, self.title, "exec")
            foreign = [name for name in OPTIONAL if f"import {name}" in block.text or f"from {name}" in block.text]
            if all(map(find_spec, foreign)):
                with capture_output() as out, warnings.catch_warnings():
                    if foreign:
                        warnings.simplefilter("ignore")  # theirs
                    exec(code, self.names)
                self.printed = out.getvalue()
        elif block.kind == "console":
            assert block.text.startswith("$ "), "a console block begins with a command after '$ '"
            shown = []
            for line in commands(block.text):
                shown += [f"$ {line}\n", self.command(line.replace("\\\n", " "))]
            return "".join(shown)
        elif block.kind in ("sh", "shell") and block.file is None:
            self.printed = "".join(self.command(line) for line in block.text.replace("\\\n", " ").splitlines())
        elif block.kind in ("sh", "bash"):
            script(block.text)
        elif block.kind == "toml":
            tomllib.loads(block.text)
        elif block.kind == "json":
            json.loads(block.text)
        else:
            assert block.file is not None or block.kind.startswith("{"), (
                f"the tests do not know the kind '{block.kind}'"
            )
        return None


@contextlib.contextmanager
def capture_output() -> Iterator[io.StringIO]:
    """What is printed meanwhile."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        yield out


def in_process(words: list[str]) -> str:
    """What ``holdfast`` prints; it must end well."""
    complaints = io.StringIO()
    with capture_output() as out, contextlib.redirect_stderr(complaints):
        try:
            status = main(words)
        except SystemExit as error:
            status = int(error.code or 0)
    assert status == 0, f"holdfast {shlex.join(words)}: exit status {status}: {complaints.getvalue()}"
    return out.getvalue()


def in_shell(line: str) -> str:
    """What a pipe of programs prints; ``holdfast`` and ``python`` are those of the tests."""
    with tempfile.TemporaryDirectory() as programs:
        for name, code in SHIMS.items():
            program = Path(programs, name)
            program.write_text(f"#!/bin/sh\nexec '{sys.executable}' {code}\n")
            program.chmod(0o755)
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "LC_ALL": "C"}
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, f"{line}: exit status {done.returncode}: {done.stderr}"
    return done.stdout


def check_command(words: list[str]) -> bool:
    """Whether ``holdfast`` knows the command and all the options; it exits otherwise.

    A variable of the shell stands for a number.
    """
    assert words[0] in COMMANDS, f"no command {words[0]}"
    words = [re.sub(r"\$\w+", "1", word) for word in words]
    try:
        _parser(words[0]).parse_args(words)
    except SystemExit as error:
        raise AssertionError(f"holdfast {shlex.join(words)}: is not understood") from error
    return True


def script(text: str) -> None:
    """A script that is not run: its syntax is right, and ``holdfast`` understands its commands."""
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    for line in text.replace("\\\n", " ").splitlines():
        if "holdfast " in line:
            check_command(shlex.split(line[line.index("holdfast ") :], comments=True)[1:])


def read_through(session: Session) -> Iterator[tuple[Block, str | None]]:
    """Run a page: each block, and what it should read where it shows what comes out."""
    with restore_registries():
        for block in blocks_of(session.page):
            try:
                yield block, session.run(block)
            except Exception as error:
                error.add_note(f"{session.title}:{block.first + 1}")
                raise


@contextlib.contextmanager
def restore_registries() -> Iterator[None]:
    """What a page has registered, and modules that it has written, are gone afterwards."""
    registries = [(kind.registry, list(kind.registry)) for kind in KINDS.values()]
    modules = set(sys.modules)
    try:
        yield
    finally:
        for registry, names in registries:
            for name in set(registry) - set(names):
                registry.forget(name)
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).is_relative_to(Path.cwd()):
                del sys.modules[name]

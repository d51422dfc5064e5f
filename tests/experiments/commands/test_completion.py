"""``holdfast completion``: the scripts complete what the parsers accept."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.experiments import cli

SHELLS = ("bash", "zsh", "fish")
#: A line before the cursor, and what completes it; the folder has the file ``log.swf`` and the directory ``out``.
COMPLETED = {
    "holdfast ru": ["run"],
    "holdfast slurm la": ["lab"],
    "holdfast slurm lab --wo": [],
    "holdfast run --or": ["--order"],
    "holdfast run --stream-format ": ["csv", "parquet"],
    "holdfast run --order run --backfilling-": [],
    "holdfast run --passes ev": ["event"],
    "holdfast run l": ["log.swf"],
    "holdfast run --output o": ["out"],
    "holdfast plot ": ["out"],
    "holdfast completion ": ["bash", "fish", "zsh"],
    "holdfast run --nodes ": [],
    "holdfast compare --b": ["--by"],
}


def parsers() -> Iterator[argparse.ArgumentParser]:
    for name in cli.COMMANDS:
        parser = cli.command_parser(name)
        yield parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from action.choices.values()


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        with pytest.MonkeyPatch.context() as patch, (place / shell).open("w") as file:
            patch.setattr("sys.stdout", file)
            assert cli.main(["completion", shell]) == 0
    (place / "here" / "out").mkdir(parents=True)
    (place / "here" / "log.swf").touch()
    return place


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_the_script(scripts: Path, shell: str) -> None:
    text = (scripts / shell).read_text()
    for parser in parsers():
        assert parser.prog.rpartition(" ")[2] in text
        for action in parser._actions:
            for name in action.option_strings:
                written = name if shell != "fish" else f" -l {name[2:]} " if name[:2] == "--" else f" -s {name[1:]} "
                assert written in text, name
    assert "%(" not in text


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "csh"]) == 2
    assert capsys.readouterr().err == "holdfast completion: error: SHELL must be one of bash, zsh, fish, not 'csh'\n"


@pytest.mark.system
@pytest.mark.parametrize("line", COMPLETED)
def test_bash_completes(scripts: Path, line: str) -> None:
    words = line.split(" ")
    code = (
        'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast; [[ ${#COMPREPLY[@]} = 0 ]] || '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    here = {"cwd": scripts / "here", "capture_output": True, "text": True, "check": True}
    ran = subprocess.run(["bash", "--norc", "-c", code, scripts / "bash", *words], **here)  # type: ignore[call-overload]
    assert not ran.stderr
    assert sorted(ran.stdout.split()) == COMPLETED[line]


@pytest.mark.system
@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
@pytest.mark.parametrize("line", COMPLETED)
def test_fish_completes(scripts: Path, line: str) -> None:
    code = f"source {scripts / 'fish'}; complete -C '{line}'"
    here = {"cwd": scripts / "here", "capture_output": True, "text": True, "check": True}
    ran = subprocess.run(["fish", "--no-config", "-c", code], **here)  # type: ignore[call-overload]
    assert sorted(row.split("\t")[0].rstrip("/") for row in ran.stdout.splitlines()) == COMPLETED[line]


@pytest.mark.system
@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here")
def test_zsh_reads_the_script(scripts: Path) -> None:
    subprocess.run(["zsh", "-n", scripts / "zsh"], check=True)

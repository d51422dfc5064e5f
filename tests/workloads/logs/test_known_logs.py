"""The catalogue of public logs: real files are recognised, copies with changes only by what is left of them."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from holdfast.experiments.cli import COMMANDS, command_parser, main
from holdfast.workloads.logs.known_logs import KnownLog, known_logs, recognise_log
from tests.shared_data import shared_file

FILES = {key: log.files[0] for key, log in known_logs().items() if log.sha256}


def real_file(name: str) -> Path:
    folder = "traces" if name.endswith(".swf") else "gpu"
    gzipped = name.endswith(".swf") or name.startswith("openb")
    return shared_file(folder, f"{name}.gz" if gzipped else name)


def test_the_catalogue_has_twelve_logs_that_differ() -> None:
    logs = known_logs().values()
    assert len(logs) == 12
    for values in ([log.sha256 for log in logs if log.sha256], [name for log in logs for name in log.files]):
        assert len(values) == len(set(values))
    assert all(re.fullmatch(r"([0-9a-f]{64})?", log.sha256) for log in logs)


@pytest.mark.parametrize("log", known_logs().values(), ids=known_logs())
def test_commands_are_commands(log: KnownLog) -> None:
    for command in log.prepare.split(" && "):
        program, name, *words = shlex.split(command)
        assert program == "holdfast"
        assert name in COMMANDS
        command_parser(name).parse_args(words)


@pytest.mark.parametrize("key", FILES)
def test_a_real_file_is_recognised_under_any_name(key: str, tmp_path: Path) -> None:
    path = real_file(FILES[key])
    copy = tmp_path / "renamed"
    shutil.copy(path, copy)
    assert hashlib.sha256(copy.read_bytes()).hexdigest() == known_logs()[key].sha256
    found = recognise_log(copy, {})
    assert found is not None
    assert (found.log, found.certainty) == (known_logs()[key], "the file as distributed")


def test_a_changed_copy_is_recognised_by_its_header_or_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.swf"
    path.write_text("; a copy\n")
    own = {"Computer": "IBM SP2", "Installation": "Swedish Royal Institute of Technology (KTH)", "MaxNodes": "100"}
    found = recognise_log(path, own)
    assert found is not None
    assert (found.log.title, found.certainty) == ("KTH SP2, 1996", "recognised by its header")
    assert recognise_log(path, {"Computer": "IBM SP2"}) is None
    for name in ("CEA-Curie-2011-2.1-cln.swf", "CEA-Curie-2011-2.1-cln.swf.gz"):
        (tmp_path / name).write_text("; a copy\n")
        found = recognise_log(tmp_path / name, {})
        assert found is not None
        assert (found.log.title, found.certainty) == ("CEA Curie, 2011 and 2012", "recognised by its name")


def test_info_says_what_the_catalogue_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, document = tmp_path / "CEA-Curie-2011-2.swf", tmp_path / "log.json"
    path.write_text("; MaxProcs: 16\n1 0 5 60 4 -1 -1 4 90 -1 1 1 1 -1 1 -1 -1 -1\n")
    assert main(["info", str(path), "--no-simulation", "--json", str(document)]) == 0
    log = known_logs()["cea-curie"]
    printed = " ".join(capsys.readouterr().out.split())  # long rows are wrapped
    assert f"{log.title} (recognised by its name); {log.terms} " in printed
    assert f"not modelled: {log.missing} " in printed
    known = json.loads(document.read_text())["known_log"]
    assert (known["origin"], known["sha256"], known["prepare"]) == (log.origin, "", log.prepare)
    path.rename(tmp_path / "mine.swf")
    assert main(["info", str(tmp_path / "mine.swf"), "--no-simulation", "--json", str(document)]) == 0
    assert "public log" not in capsys.readouterr().out
    assert "known_log" not in json.loads(document.read_text())

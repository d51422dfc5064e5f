"""Words of the command line and names of files that are meant badly: one sentence each."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.sweeps.fingerprint import release_line
from holdfast.workloads.ground.documents import parse_json, parse_toml, read_json
from holdfast.workloads.ground.errors import InputError, UnknownNameError, error_sentence, format_value

pytestmark = pytest.mark.pictures("png", "pdf")

LONG = "x" * 300
#: Path.is_dir calls such a name absent since Python 3.14, and raised an error before.
NO_DIRECTORY = "no such" if sys.version_info >= (3, 14) else "File name too long"
PLAN = "plan exponential --mean 1h --n 4"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("plan exponential --mean=--", "holdfast plan: error: --mean must have a value other than '--'"),
        (f"{PLAN} --json=--", "--json must have a value other than '--'"),
        ("run a.swf -o out --nodes=--", "--nodes must have a value other than '--'"),
        (f"run {LONG} -o out", "File name too long"),
        (f"info {LONG * 5}", "xxx...xxx"),
        (f"explain {LONG} 1", NO_DIRECTORY),
        (f"plot {LONG}", NO_DIRECTORY),
        (f"fit-costs {LONG}", "File name too long"),
        (f"{PLAN} --json {LONG}", "File name too long"),
        (f"{PLAN} --plot {LONG}", "File name too long"),
        (f"sweep a.toml -o {LONG}", "File name too long"),
        ("sweep nul.toml -o out --dry-run", "is not a file name: "),
        ("info a\x1b[31m", r"a\x1b[31m: no such file"),
        ("info a\u2028b", r"a\u2028b: no such file"),
        (f"info a.swf {'y' * 5000}", "unrecognized arguments: yyy"),
        ("whatif a.swf -o b", "holdfast whatif: error: unrecognized arguments: -o b; see 'holdfast whatif --help'"),
        ("generate -o x.swf --jobs 1000000000", "--jobs must be a whole number of at most 10,000,000, not"),
        ("policies --scenarios 1000000000", "--scenarios must be a whole number of at most 100,000, not"),
        ("plot . nothing", "known are beyond-"),
    ],
)
def test_is_refused_in_one_sentence(
    line: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.toml").write_text("[workload]\nseeds = 0\n")
    Path("nul.toml").write_text('[workload]\ntraces = "a\\u0000b"\n')
    try:
        status = cli.main(line.split(" "))
    except SystemExit as error:
        status = int(str(error.code))
    message = capsys.readouterr().err
    assert (status, message.count("\n")) == (2, 1)
    assert sentence in message
    assert len(message) < 1500
    assert sorted(path.name for path in Path().iterdir()) == ["a.toml", "nul.toml"]


@pytest.mark.system
def test_names_in_figures_are_plain_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = Path("$\\frac{$ \N{PILE OF POO}" + "x" * 200 + ".txt")
    runs.write_text("10\n20\n30\n")
    assert cli.main(["plan", "--runs", str(runs), "--n", "4", "--fit", "discrete", "--plot", "p"]) == 0
    assert Path("p.png").stat().st_size > 1000


def test_documents_say_file_line_and_depth(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1,\n "b": }')
    with pytest.raises(InputError, match=r"a\.json:2: is not JSON from column 7 on"):
        read_json(path)
    for text in ("[" * 40 + "]" * 40, "[" * 100_000):
        with pytest.raises(InputError, match="is nested more than 32 levels deep"):
            parse_json(text)
    with pytest.raises(InputError, match="more than 4,300 digits"):
        parse_json("9" * 5000)
    with pytest.raises(InputError, match=r"line 2 is not TOML: .* in column 7"):
        parse_toml("a = 1\nb = 2 3")
    with pytest.raises(InputError, match="is nested more than 32 levels deep"):
        parse_toml(f"{'a.' * 2000}b = 1")
    assert parse_json("[" * 32 + "]" * 32) is not None


def test_values_and_failures_are_shown_without_python() -> None:
    deep: list[object] = []
    for _ in range(3000):
        deep = [deep]
    assert format_value(deep) == "[[[...]]]"
    assert format_value(10**5000) == "a number of about 5,000 digits"
    assert len(format_value({"a": "x" * 10_000})) == 60
    assert len(str(UnknownNameError("key", "k" * 9999, [f"name-{n}" for n in range(500)]))) < 600
    assert error_sentence(MemoryError()) == "the memory of this machine is not enough"
    assert error_sentence(FileNotFoundError(2, "No such file", "a b")) == "a b: No such file"
    assert error_sentence(KeyError("x\ny")) == "a defect of Holdfast or of a plug-in: 'x\\ny'"


@pytest.mark.parametrize("command", ["explain r 1", "plan exponential"])
def test_a_defect_is_one_sentence_and_a_crash_file(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> None:
        raise KeyError("a\nb")

    # What Holdfast calls and is none of its own code, such as a plug-in, is named.
    place = f"test_hostile_words.py, line {fail.__code__.co_firstlineno + 1}"
    name = command.split()[0]
    monkeypatch.setattr(f"holdfast.experiments.commands.{name}.main", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cli.main(command.split()) == 70
    (path,) = tmp_path.iterdir()
    message = capsys.readouterr().err
    assert message.startswith(
        f"holdfast {name}: error: a defect of Holdfast or of a plug-in ({place}): 'a\\nb' (KeyError); "
    )
    assert message.count("\n") == 1
    assert str(path) in message
    text = path.read_text()
    assert f"command: holdfast {command}\n" in text
    assert f"holdfast: {release_line()}\n" in text
    assert 'raise KeyError("a\\nb")' in text
    assert all(f"\n{package}: " in text for package in ("python", "numpy"))
    assert path.stat().st_mode & 0o777 == 0o600
    # Where it cannot be written the sentence says so.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert cli.main(command.split()) == 70
    assert "its crash file cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "the memory of this machine is not enough"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (PermissionError(13, "Permission denied", "a"), "a: Permission denied"),
        (OSError("odd"), "the system refuses: odd"),
        (RuntimeError("can't start new thread"), "the system refuses: can't start new thread"),
        (
            ModuleNotFoundError("No module named 'scipy'", name="scipy"),
            "No module named 'scipy': install Holdfast again",
        ),
    ],
)
def test_trouble_with_the_machine_is_no_defect(
    error: Exception, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr("holdfast.experiments.commands.plan.main", fail)
    assert cli.main(["plan", "exponential"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("holdfast plan: ")
    assert message.endswith(f"{sentence}\n")

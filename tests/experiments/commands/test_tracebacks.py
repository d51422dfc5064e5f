"""Inputs that once ended in a traceback: each is one sentence."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.policies.order import ORDERS
from holdfast.policies.orders.fairshare import FairShare
from holdfast.policies.orders.utilities import Wfp
from holdfast.policies.score_network import ScoringNetwork
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.ranges import Range
from holdfast.workloads.table.job_table import write_job_table
from tests.places import ROOT
from tests.support.jobs import rigid

LOG = "; MaxNodes: 4\n; Note: J{}lich\n" + "".join(
    f"{n} {10 * n} -1 60 2 -1 -1 2 90 -1 1 1 1 1 1 1 -1 -1\n" for n in range(1, 9)
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_job_table([rigid(n, 10 * n, 2, 60) for n in range(1, 9)], "t.csv")
    return tmp_path


def refusal(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    before = sorted(Path().iterdir())
    assert cli.main([word.replace("_", " ") if "=" in word else word for word in line.split()]) == 2
    assert sorted(Path().iterdir()) == before
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("holdfast ")
    assert len(lines[-1]) < 500
    return lines[-1]


RUN = "run t.csv -o out --nodes 4 --mechanism baseline"
NINES = "9" * 400


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"{RUN} --order alcf_shortest=1_longest={NINES}", "longest must be a number of seconds from 0.000001 to"),
        (f"{RUN} --order wfp3_exponent=1e308", "exponent must be a number above 0 and at most 20, not '1e308'"),
        (f"{RUN} --order wfp3_exponent={NINES * 20}", "exponent must be a number above 0 and at most 20, not '999"),
        (f"{RUN} --order wfp3_exponent=nan", "exponent must be a number above 0 and at most 20"),
        (f"{RUN} --backfilling easy_depth={NINES}", "depth must be a whole number of jobs from 1 to 1,000,000,000"),
        (f"{RUN} --failure-mtbf 1y --repair-variation 1e300", "variation must be a number from 0 to 1,000, not 1e+300"),
        ("run t.csv -o out --nodes 4 --mechanism WEIGH_price=1e308-PAA", "price must be a number from 0 to 1,000,000"),
        ("plan exponential --mean 1h --strategy maximum_factor=1e308", "factor must be a number above 1 and at most"),
        (f"plan exponential --mean 1h --strategy masi_factor={NINES}", "factor must be a number above 1 and at most"),
        (f"{RUN} --order os:getcwd", "must be a function of a waiting job and the time, and posix.getcwd is one of"),
        (f"{RUN} --backfilling os:getcwd", "must be a function of the view, and posix.getcwd is one of Python's own"),
        (f"{RUN} --expansion os:getcwd", "must be a function of the view and the promises, and"),
        (f"{RUN} --tenants os:getcwd", "must be a function of the view, and"),
        (f"{RUN} --tenants os:path", "must be a function of the view, not of the type module"),
        (f"{RUN} --tenants holdfast.policies.order:Order", "cannot be made without values for its parameters: key"),
        (f"{RUN} --expansion holdfast.policies.backfilling:Easy", "is another kind of plug-in: backfilling rule"),
        (f"{RUN} --backfilling holdfast.policies.expansion:Grow", "is another kind of plug-in: expansion"),
        (f"{RUN} --order holdfast.policies.planning.heuristics:masi", "is another kind of plug-in: planning strategy"),
        ("run t.csv -o out --nodes 4 --mechanism os:system-PAA", "a function of the view and the on-demand job, and"),
        (
            "run t.csv -o out --nodes 4 --mechanism N-os:system",
            "an arrival strategy has the methods room and make_room",
        ),
    ],
)
def test_parameters_and_plugins(line: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sentence in refusal(line, capsys)


def test_half_life(capsys: pytest.CaptureFixture[str]) -> None:
    # The names of these parameters have an underscore.
    for word, sentence in (
        ("fairshare half_life=1e308", "half_life must be a number of seconds from 0.000001 to 1,000,000,000,000"),
        (f"alcf fifo_factor={NINES}", "fifo_factor must be 0, or a number of seconds from 0.000001 to"),
    ):
        capsys.readouterr()
        assert cli.main([*RUN.split(), "--order", word]) == 2
        assert sentence in capsys.readouterr().err


def test_ranges_hold_in_python_too() -> None:
    for make in (lambda: Wfp(exponent=10**400), lambda: FairShare(half_life=0), lambda: FairShare(patience=1e-300)):
        with pytest.raises(ParameterError, match=r"must be (0, or )?a number"):
            make()
    assert FairShare(patience=0).patience == 0
    assert Wfp(exponent=np.float64(2)).exponent == 2
    with pytest.raises(ParameterError, match="a must be a whole number from 1 to 3"):
        Range(1, 3, whole=True).check("a", 1.5)


def test_keys_that_overflow_name_the_parameter() -> None:
    """A plug-in of a user, which declares no range."""
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Mine:
        power: float = 1.0

        def __call__(self, job: object, now: int) -> float:
            return float(self.power) * 1e300 * 1e9 - (float("inf") if self.power == 2 else 0)

    ORDERS.add("mine", Mine)
    try:
        jobs = [rigid(n, 0, 2, 60) for n in range(1, 4)]
        for power in (2, 3):
            with pytest.raises(
                InputError, match=rf"mine power={power} has keys that are not finite .* of power nearer"
            ):
                simulate(jobs, 2, order=f"mine power={power}")
        with pytest.raises(ParameterError, match="power must be a number from -1e"):
            simulate(jobs, 2, order="mine power=1e200")
    finally:
        ORDERS.forget("mine")


@pytest.mark.parametrize("byte", [b"\xff", b"\xc3", b"\xed\xa0\x80"])
def test_a_byte_that_is_no_text_in_a_stream(byte: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    head, _, jobs = LOG.partition("{}")
    Path("a.swf").write_bytes(head.encode() + byte + jobs.encode())
    assert cli.main(["run", "a.swf", "-o", "note", "--stream", "--nodes", "4"]) == 0
    Path("a.swf").write_bytes(LOG.encode()[:-8] + byte + LOG.encode()[-8:])
    sentence = refusal("run a.swf -o out --stream --nodes 4", capsys)
    assert "a.swf:10: " in sentence
    assert "must be a finite number" in sentence or "must have 17 or more fields" in sentence


def archive(**changed: bytes) -> None:
    ScoringNetwork(np.ones((4, 2)), np.zeros(2), np.ones(2)).save("whole.npz")
    with zipfile.ZipFile("whole.npz") as whole, zipfile.ZipFile("m.npz", "w") as made:
        for name in whole.namelist():
            made.writestr(name, changed.get(name.removesuffix(".npy"), whole.read(name)))
    Path("whole.npz").unlink()


def header(shape: str, kind: str = "<f8") -> bytes:
    file = io.BytesIO()
    np.save(file, np.ones(2))
    text = file.getvalue().replace(b"'shape': (2,)", f"'shape': {shape}".encode()).replace(b"<f8", kind.encode())
    # The header has a length of its own, which blanks fill.
    end = text.index(b"\n")
    line = text[10:end].rstrip()
    return text[:8] + (len(line) + 1).to_bytes(2, "little") + line + b"\n" + text[end + 1 :]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (header("(1000000000000,)"), "m.npz: the array outer has 16 bytes, but its header says 8,000,000,000,000"),
        (header("(99999999, 99999999)"), "but its header says 79,999,998,400,000,008"),
        (header("(1,)"), "m.npz: the array outer has 16 bytes, but its header says 8"),
        (header("(2,", "<f8"), "is not a network saved as npz"),
        pytest.param(  # numpy reads the syntax of Python 2, and warns
            header("(2L,)"), "is not a network saved as npz", marks=pytest.mark.filterwarnings("default")
        ),
        (header("(2,)", "|O"), "m.npz: "),
        (header("(4,)", "<U1"), "is not a network saved as npz"),
        (b"", "is not a network saved as npz"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "is not a network saved as npz"),
    ],
)
def test_networks_with_false_headers(data: bytes, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    archive(outer=data)
    assert sentence in refusal(f"{RUN} --order learned_model=m.npz", capsys)


def test_a_network_with_too_large_weights(capsys: pytest.CaptureFixture[str]) -> None:
    file = io.BytesIO()
    np.save(file, np.array([1e308, 1e308]))
    archive(outer=file.getvalue())
    assert "outer must be finite numbers of at most 1e+100" in refusal(f"{RUN} --order learned_model=m.npz", capsys)


def test_numbers_of_thousands_of_digits_in_status(capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["plan", "uniform", "--min", "1h", "--max", "9h", "--n", "6", "--checkpoint", "60", "--json", "p.json"]
    assert cli.main(plan) == 0
    assert cli.main(["submit", "p.json", "-o", "s", "--", "true"]) == 0
    for name, text in (("jobs", f"1 {'7' * 5000}\n"), ("done", f"{'7' * 5000}\n"), ("jobs", "1 ١٢\n")):
        Path("s", name).write_text(text)
        assert f"{name}:1: is not a line written by the scripts of a sequence" in refusal("status s", capsys)
        Path("s", name).unlink()
    document = Path("s/sequence.json")
    whole = document.read_text()
    for old, new in (
        ('"nodes": 1,', '"nodes": "x",'),
        ('"expected_cost":', '"expected_cost": 1e999, "x":'),
        ('"minutes":', '"minutes": 1e300, "x":'),
        ('"program": [', '"program": [1,'),
        ('"retries": 1', '"retries": -1'),
    ):
        document.write_text(whole.replace(old, new, 1))
        assert "sequence.json" in refusal("status s", capsys)


# The process as a whole.

#: Starts the command as its console script does.
SCRIPT = "import sys; sys.argv[0] = 'holdfast'; from holdfast import main; sys.exit(main())"


def process(words: str, redirection: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    line = f'exec "{sys.executable}" -c "{SCRIPT}" {words} {redirection}'
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=variables, check=False)


@pytest.mark.system
@pytest.mark.parametrize(
    ("words", "redirection", "status", "sentence"),
    [
        ("info a.swf", ">&-", 0, ""),
        ("info a.swf", ">&- 2>&- <&-", 0, ""),
        ("info a.swf", ">/dev/full", 2, "holdfast info: error: No space left on device\n"),
        ("info a.swf", "| head -c 1", 0, ""),
        ("info none.swf", ">&-", 2, "holdfast info: error: none.swf: no such file\n"),
    ],
)
def test_standard_output_that_cannot_be_written(words: str, redirection: str, status: int, sentence: str) -> None:
    Path("a.swf").write_text(LOG.format("ü"))
    done = process(words, redirection.replace("|", "> >(") + (")" if "|" in redirection else ""))
    assert (done.returncode, done.stderr) == (status, sentence)


@pytest.mark.system
def test_a_terminal_without_the_characters() -> None:
    Path("Jülich.swf").write_text(LOG.format("ü"))
    Path("out").mkdir()
    done = process("run Jülich.swf -o Jülich --mechanism baseline", PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert done.returncode == 0
    assert "results are in J?lich" in done.stdout
    assert "Traceback" not in done.stderr


#: Writes when the handlers stand, and which modules were imported before from files.
INTERRUPTED = """import os, sys, _signal
_signal.signal(_signal.SIGINT, _signal.default_int_handler)
if hasattr(_signal, "SIGHUP"):
    _signal.signal(_signal.SIGHUP, _signal.SIG_DFL)  # nohup ignores it
sys.argv = ["holdfast", "info", "a.swf"]
install, before = _signal.signal, set(sys.modules)
def note(number, handler):
    former = install(number, handler)
    if number == _signal.SIGHUP:
        _signal.signal = install
        new = sorted(set(sys.modules) - before - {"holdfast", "_signal"})
        os.write(1, f"{new}\\n".encode())
    return former
_signal.signal = note
from holdfast import main
sys.exit(main())
"""


#: `make coverage` runs code in each process before Holdfast handles signals, and after it.
WITHOUT_COVERAGE = pytest.mark.skipif(
    "COVERAGE_PROCESS_CONFIG" in os.environ, reason="coverage runs code before and after Holdfast, without its handlers"
)


@WITHOUT_COVERAGE
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no hangup")
def test_signals_are_handled_before_anything_is_imported() -> None:
    Path("a.swf").write_text(LOG.format("ü"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, env=environment)
    assert run.stdout.startswith("[]\n")
    assert run.returncode == 0


@WITHOUT_COVERAGE
@pytest.mark.system
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups")
@pytest.mark.parametrize("times", [12, pytest.param(150, marks=pytest.mark.slow)])
def test_signals_at_any_moment_leave_no_traceback(times: int) -> None:
    """From the moment on at which handlers stand; what Python itself does before is out of reach."""
    Path("a.swf").write_text(LOG.format("ü"))
    ended = 0
    for number in range(times):
        run = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert run.stdout is not None
        run.stdout.readline()
        time.sleep(0.5 * number / times)
        os.killpg(run.pid, signal.SIGINT)
        error = run.communicate()[1].decode()
        assert "Traceback" not in error
        # Python ends itself by the signal where it comes after the last line of ours.
        assert run.returncode in (0, 130, -signal.SIGINT)
        assert error.count("\n") <= 1
        ended += run.returncode != 0
    assert ended

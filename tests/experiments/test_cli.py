"""The command line: what it writes, what it prints, and how it refuses."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.cli import COMMANDS
from holdfast.simulator import simulate
from holdfast.simulator.results.catalogue import SUMMARY_COLUMNS
from holdfast.simulator.results.schema import JOBS
from holdfast.workloads.ground.release import VERSION
from holdfast.workloads.table.columns import COLUMNS
from holdfast.workloads.table.job_table import read_job_table
from tests.places import GOLDEN
from tests.support.jobs import manifest_without_times

#: Wall-clock times: the only columns that differ between two runs.
TIMES = ("decision_ms_p99", "decision_ms_max", "engine_seconds")


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "year.swf.gz"
    assert cli.main(["generate", "-o", str(path), "--jobs", "600", "--seed", "3"]) == 0
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text((GOLDEN / "small.csv").read_text())
    return path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_generate_writes_the_same_bytes_and_as_many_jobs_as_asked(year: Path, tmp_path: Path) -> None:
    again = tmp_path / "another-name.swf.gz"
    assert cli.main(["generate", "-o", str(again), "--jobs", "600", "--seed", "3"]) == 0
    assert again.read_bytes() == year.read_bytes()
    assert cli.main(["generate", "-o", str(again), "--jobs", "600", "--seed", "4"]) == 0
    assert again.read_bytes() != year.read_bytes()


def test_prepare_writes_the_job_table(year: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "jobs.csv"
    assert cli.main(["prepare", str(year), "-o", str(path), "--notice-mix", "W2", "--overheads", "added"]) == 0
    with path.open() as file:
        assert file.readline().strip() == ",".join(COLUMNS)
    assert len(read_job_table(path).jobs) == 600
    assert "600 jobs" in capsys.readouterr().out


def test_run_writes_its_files(year: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "results"
    words = ["run", str(year), "-o", str(directory), "--mechanism", "baseline,CUA-SPAA", "--events", "--plot"]
    assert cli.main(words) == 0
    assert sorted(path.name for path in directory.iterdir()) == sorted(
        [
            *("run.json", "summary.csv", "types.csv", "accounting.csv", "jobs.csv"),
            *(
                f"{kind}-{name}.csv"
                for kind in ("jobs", "events", "timeline", "decisions")
                for name in ("baseline", "CUA-SPAA")
            ),
            *("machine.csv", "contrasts.csv", "distributions.csv"),
            *(f"{name}.{kind}" for name in ("mechanisms", "waits", "machine", "accounting") for kind in ("png", "pdf")),
        ]
    )
    summary = rows(directory / "summary.csv")
    assert tuple(summary[0]) == SUMMARY_COLUMNS
    assert [row["mechanism"] for row in summary] == ["baseline", "CUA-SPAA"]
    jobs = rows(directory / "jobs-CUA-SPAA.csv")
    assert tuple(jobs[0]) == JOBS.names
    assert len(jobs) == 600
    events = rows(directory / "events-CUA-SPAA.csv")
    assert tuple(events[0]) == ("time", "event", "job_id", "before", "after", "cause")
    manifest = json.loads((directory / "run.json").read_text())
    assert manifest["nodes"] == 4392
    assert manifest["preparation"]["seed"] == 0
    assert len(manifest["input"]["sha256"]) == 64
    out = capsys.readouterr().out
    assert "CUA-SPAA" in out
    assert f"results are in {directory}" in out


@pytest.mark.system
def test_run_of_a_trace_is_prepare_and_run_of_the_table(
    year: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    how = ["--seed=5", "--notice-mix=0.1,0.2,0.3,0.4", "--overheads=added", "--node-mtbf=1y", "--checkpoint-factor=0.5"]
    how += ["--shares=0.3,0.4,0.3", "--notice-lead=5m,1h", "--lateness=1h", "--min-share=0.5", "--rigid-setup=0,0.2"]
    assert cli.main(["run", str(year), "-o", str(tmp_path / "at-once"), *how]) == 0
    assert cli.main(["prepare", str(year), "-o", str(tmp_path / "jobs.csv"), *how]) == 0
    assert cli.main(["run", str(tmp_path / "jobs.csv"), "-o", str(tmp_path / "in-two"), "--nodes", "4392"]) == 0
    types = [line for line in capsys.readouterr().out.splitlines() if line.startswith("types: rigid")]
    assert len(types) == 3
    assert len(set(types)) == 1
    assert (tmp_path / "at-once" / "jobs.csv").read_bytes() == (tmp_path / "jobs.csv").read_bytes()
    for path in (tmp_path / "in-two").glob("jobs-*.csv"):
        assert path.read_bytes() == (tmp_path / "at-once" / path.name).read_bytes()


def test_types_of_each_seed_are_those_of_a_run_with_that_seed(year: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def types(*seed: str) -> list[str]:
        assert cli.main(["run", str(year), "--mechanism", "N-PAA", *seed]) == 0
        shown = capsys.readouterr().out
        assert all(len(line) <= 120 for line in shown.splitlines())
        return re.findall(r"(?:seed \d, )?types: [^%]*", shown.replace("\n  ", " "))

    alone = [types("--seed", seed)[0] for seed in "34"]
    assert types("--seed", "3,4") == [f"seed {seed}, {text}" for seed, text in zip("34", alone, strict=True)]


def test_a_trace_under_the_baseline_alone_is_replayed_as_it_is(year: Path, tmp_path: Path) -> None:
    assert cli.main(["run", str(year), "-o", str(tmp_path), "--mechanism", "baseline"]) == 0
    assert {row["type"] for row in rows(tmp_path / "jobs-baseline.csv")} == {"rigid"}
    assert not (tmp_path / "jobs.csv").exists()
    assert "preparation" not in json.loads((tmp_path / "run.json").read_text())


@pytest.mark.parametrize(
    "words",
    [["run"], ["run", "--order", "fcfs,sjf", "--against", "order=fcfs"], ["run", "--mechanism", "all"]],
    ids=" ".join,
)
def test_without_a_directory_the_same_is_printed_and_nothing_is_stored(
    year: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert cli.main([*words, str(year)]) == 0
    printed = capsys.readouterr().out
    assert not list(Path().iterdir())
    assert cli.main([*words, str(year), "-o", "../out"]) == 0
    assert capsys.readouterr().out == f"{printed}results are in ../out\n"


@pytest.mark.system
def test_the_same_run_writes_the_same_bytes(year: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        words = ["run", str(year), "-o", str(tmp_path / name), "--mechanism", "baseline,CUP-SPAA", "--events", "--plot"]
        assert cli.main(words) == 0
    for path in (tmp_path / "first").iterdir():
        other = tmp_path / "second" / path.name
        if path.name == "summary.csv":
            here, there = ([{**row, **dict.fromkeys(TIMES)} for row in rows(file)] for file in (path, other))
            assert here == there
        elif path.name == "run.json":  # has the digest of that file
            assert manifest_without_times(path) == manifest_without_times(other)
        else:
            assert path.read_bytes() == other.read_bytes(), path.name


@pytest.mark.parametrize("mechanism", ["baseline", "N-PAA", "CUA-SPAA", "CUP-SPAA"])
def test_golden_results(table: Path, tmp_path: Path, mechanism: str) -> None:
    """Written down once and read by a person: a change of the model shows as a diff."""
    words = ["run", str(table), "-o", str(tmp_path), "--nodes", "16", "--mechanism", mechanism, "--events"]
    assert cli.main(words) == 0
    for kind in ("jobs", "events"):
        name = f"{kind}-{mechanism}.csv"
        assert (tmp_path / name).read_text() == (GOLDEN / name).read_text()


def test_python_and_command_line_agree(table: Path, tmp_path: Path) -> None:
    assert cli.main(["run", str(table), "-o", str(tmp_path), "--nodes", "16", "--mechanism", "CUP-PAA"]) == 0
    result = simulate(read_job_table(table).jobs, nodes=16, mechanism="CUP-PAA")
    written = rows(tmp_path / "summary.csv")[0]
    for name, value in result.summary().items():
        if name not in TIMES:
            assert written[str(name)] == ("" if value != value else str(value)), name


def test_warmup_and_cooldown(year: Path, tmp_path: Path) -> None:
    words = ["run", str(year), "-o", str(tmp_path), "--mechanism", "N-PAA", "--warmup", "12h", "--cooldown", "1d"]
    assert cli.main(words) == 0
    assert 0 < int(rows(tmp_path / "summary.csv")[0]["jobs"]) < 600


def test_info(year: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", str(year), "--plot", str(tmp_path / "trace")]) == 0
    out = capsys.readouterr().out
    assert "4,392 nodes" in out
    assert "wait, FCFS/EASY" in out
    assert (tmp_path / "trace.png").exists()
    assert len(out.splitlines()) < 24, "one screen"


@pytest.mark.parametrize(
    ("nodes", "remark"),
    [("144", "; by the header 144 nodes of 8 processors: --procs-per-node 8 counts nodes"), ("0", ""), ("143", "")],
)
def test_info_says_what_a_node_has(nodes: str, remark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = "1 0 0 60 4 -1 -1 4 90 -1 1 1 1 1 1 1 -1 -1"
    (tmp_path / "a.swf").write_text(f"; MaxProcs: 1,152\n; MaxNodes: {nodes}\n{job}\n")
    assert cli.main(["info", str(tmp_path / "a.swf")]) == 0
    assert f"1,152 processors{remark}\n" in capsys.readouterr().out


@pytest.mark.system
def test_demo_is_two_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "-o", str(tmp_path), "--jobs", "200"]) == 0
    out = capsys.readouterr().out
    assert "$ holdfast generate" in out
    assert "$ holdfast run" in out
    assert len(rows(tmp_path / "summary.csv")) == 7
    assert (tmp_path / "mechanisms.png").exists()


@pytest.mark.system
def test_marginals(year: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["marginals", str(year), "-o", str(tmp_path)]) == 0
    assert "runtime / request" in capsys.readouterr().out
    assert {row["origin"] for row in rows(tmp_path / "marginals.csv")} == {"built in", "emerges", "differs"}


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    line = rf"holdfast {re.escape(VERSION)} \(commit ([0-9a-f]{{40}}(-modified)?|unknown), sources [0-9a-f]{{16}}\)\n"
    assert re.fullmatch(line, capsys.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    assert "usage" in capsys.readouterr().out


def test_usage_has_what_may_be_missing_in_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    for command, usage in (("plot", "holdfast plot DIR [ID ...] [options]"), ("info", "holdfast info TRACE [options]")):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        assert capsys.readouterr().out.startswith(f"usage: {usage}\n")


def change_first_row(column: str, value: str) -> Callable[[str], str]:
    """A job table with another value in its first row."""

    def edit(text: str) -> str:
        lines = text.splitlines()
        cells = lines[1].split(",")
        cells[COLUMNS.index(column)] = value
        return "\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n"

    return edit


WRONG_TABLES = {
    "negative size": (change_first_row("nodes", "-4"), "nodes"),
    "no size": (change_first_row("nodes", ""), "nodes"),
    "NaN": (change_first_row("runtime", "nan"), "runtime"),
    "infinite": (change_first_row("walltime", "inf"), "walltime"),
    "duplicate id": (change_first_row("job_id", "2"), "job_id"),
    "larger than the machine": (change_first_row("nodes", "17"), "16"),
    "unknown type": (change_first_row("type", "ridgid"), "rigid"),
    "runtime above walltime": (change_first_row("runtime", "99999"), "walltime"),
    "not a number": (change_first_row("submit", "soon"), "submit"),
    "no such row": (lambda text: text + "1,rigid\n", "table.csv:"),
}


@pytest.mark.parametrize("name", WRONG_TABLES)
def test_wrong_job_tables(name: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit, expected = WRONG_TABLES[name]
    table.write_text(edit(table.read_text()))
    directory = tmp_path / "results"
    assert cli.main(["run", str(table), "-o", str(directory), "--nodes", "16"]) == 2
    check_refusal(capsys, expected)
    assert not directory.exists()


WRONG_WORDS = {
    "missing file": (["run", "{tmp}/none.swf", "-o", "{tmp}/out"], "none.swf"),
    "a directory": (["run", "{tmp}", "-o", "{tmp}/out"], "directory"),
    "not a trace": (["run", "{tmp}/prose.txt", "-o", "{tmp}/out"], "prose.txt"),
    "empty": (["run", "{tmp}/empty.txt", "-o", "{tmp}/out"], "empty.txt"),
    "no machine": (["run", "{table}", "-o", "{tmp}/out"], "--nodes"),
    "a machine of no nodes": (["run", "{table}", "-o", "{tmp}/out", "--nodes", "0"], "--nodes"),
    "a machine of many nodes": (["run", "{table}", "-o", "{tmp}/out", "--nodes", "many"], "--nodes"),
    "unknown mechanism": (["run", "{table}", "-o", "{tmp}/out", "--nodes", "16", "--mechanism", "CUA-SPA"], "CUA-SPAA"),
    "unknown order": (["run", "{table}", "-o", "{tmp}/out", "--nodes", "16", "--order", "fcsf"], "fcfs"),
    "unknown tenants": (["run", "{table}", "-o", "{tmp}/out", "--nodes", "16", "--tenants", "some"], "any, fits, none"),
    "unknown passes": (["run", "{table}", "-o", "{tmp}/out", "--nodes", "16", "--passes", "never"], "instant or event"),
    "unknown length": (["run", "{table}", "-o", "{tmp}/out", "--nodes", "16", "--backfill-length", "x"], "walltime"),
    "unknown mix": (["run", "{year}", "-o", "{tmp}/out", "--notice-mix", "W6"], "W5"),
    "unknown grouping": (["run", "{year}", "-o", "{tmp}/out", "--group-by", "colour"], "project"),
    "unknown overheads": (["run", "{year}", "-o", "{tmp}/out", "--overheads", "outside"], "inside"),
    "unknown format": (["run", "{year}", "-o", "{tmp}/out", "--format", "swff"], "swf"),
    "no duration": (["run", "{year}", "-o", "{tmp}/out", "--warmup", "long"], "--warmup"),
    "negative duration": (["run", "{year}", "-o", "{tmp}/out", "--cooldown=-5m"], "--cooldown"),
    "all cooled down": (
        ["run", "{year}", "-o", "{tmp}/out", "--warmup", "9y", "--mechanism", "N-PAA"],
        "no job is left",
    ),
    "no seed": (["run", "{year}", "-o", "{tmp}/out", "--seed", "-1"], "--seed"),
    "no factor": (["run", "{year}", "-o", "{tmp}/out", "--checkpoint-factor", "0"], "--checkpoint-factor"),
    "no share": (["run", "{year}", "-o", "{tmp}/out", "--no-show-share", "2"], "--no-show-share"),
    "two shares": (
        ["run", "{year}", "-o", "{tmp}/out", "--shares", "0.5,0.5"],
        "--shares must be 3 numbers, separated by commas, not '0.5,0.5'",
    ),
    "shares of more than all": (
        ["prepare", "{year}", "-o", "{tmp}/out", "--shares", "0.5,0.5,0.5"],
        "--shares must be three shares (on-demand, rigid, malleable) of sum 1, not '0.5,0.5,0.5'",
    ),
    "a mix of words": (["prepare", "{year}", "-o", "{tmp}/out", "--notice-mix", "W1,W5,W2,W3"], "--notice-mix must be"),
    "leads in the wrong order": (
        ["run", "{year}", "-o", "{tmp}/out", "--notice-lead", "30m,15m"],
        "--notice-lead must be two bounds with 0 <= lower <= upper < inf, not '30m,15m'",
    ),
    "no lead": (["run", "{year}", "-o", "{tmp}/out", "--notice-lead", "soon,15m"], "--notice-lead must be a duration"),
    "no warning": (["run", "{year}", "-o", "{tmp}/out", "--warning=-1"], "--warning must be a duration of at least 0"),
    "no time-out": (["run", "{year}", "-o", "{tmp}/out", "--timeout", "9" * 5000], "--timeout must be a"),
    "no smallest size": (
        ["run", "{year}", "-o", "{tmp}/out", "--min-share", "1_0"],
        "--min-share must be a share",
    ),
    "unwritable directory": (["run", "{table}", "-o", "{tmp}/prose.txt/out", "--nodes", "16"], "prose.txt"),
    "unwritable file": (["generate", "-o", "{tmp}/none/year.swf", "--jobs", "9"], "none"),
    "no jobs": (["generate", "-o", "{tmp}/out", "--jobs", "0"], "--jobs"),
    "prepare a table": (["prepare", "{table}", "-o", "{tmp}/out"], "job table"),
    "info of a table": (["info", "{table}"], "job table"),
    "nobody fits": (
        ["info", "{year}", "--nodes", "5"],
        "year.swf.gz: no job is left to simulate on 5 nodes (600 larger than the machine)",
    ),
    "nobody fits to be prepared": (["prepare", "{year}", "--nodes", "5", "-o", "{tmp}/out"], "larger than the machine"),
    "nobody fits to run": (["run", "{year}", "--nodes", "5", "-o", "{tmp}/out"], "(600 larger than the machine)"),
    "no row": (["run", "{tmp}/none.csv", "-o", "{tmp}/out", "--nodes", "5"], "none.csv: no job is left to simulate"),
    "a huge machine": (["info", "{year}", "--nodes", "9" * 30], "at most 1,000,000,000, not"),
    "a number without end": (["info", "{year}", "--nodes", "9" * 5000], "at most 1,000,000,000, not '999"),
    "a late beginning": (
        ["run", "{year}", "-o", "{tmp}/out", "--starting-state", "1e30"],
        "at most 1,000,000,000,000 s",
    ),
    "a file for a directory": (
        ["run", "{table}", "-o", "{tmp}/prose.txt", "--nodes", "50"],
        "prose.txt: {tmp}/prose.txt is a file",
    ),
    "costs that no job needs": (
        ["run", "{table}", "-o", "{tmp}/out", "--nodes", "5000", "--costs", "none.json"],
        "none.json",
    ),
    "unknown command": (["replay", "x"], "replay"),
    "unknown option": (["run", "{table}", "-o", "{tmp}/out", "--node", "5"], "--node"),
    "nothing to write to": (["prepare", "{table}"], "-o"),
    "no place for events": (
        ["run", "{table}", "--nodes", "16", "--events"],
        "--events writes files: name their directory",
    ),
    "no place for figures": (
        ["run", "{table}", "--nodes", "16", "--plot"],
        "--plot writes files: name their directory",
    ),
    "no place for a stream": (["run", "{year}", "--stream"], "--stream writes files: name their directory with -o DIR"),
}


@pytest.mark.parametrize("name", WRONG_WORDS)
def test_wrong_words(name: str, year: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prose.txt").write_text("To be, or not to be, that is the question:\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "none.csv").write_text(",".join(COLUMNS) + "\n")
    words, expected = WRONG_WORDS[name]
    filled = [word.format(tmp=tmp_path, table=table, year=year) for word in words]
    try:
        status = cli.main(filled)
    except SystemExit as ended:  # how argparse refuses
        status = int(ended.code or 0)
    assert status == 2
    check_refusal(capsys, expected.format(tmp=tmp_path))
    assert not (tmp_path / "out").exists()


def test_one_project_has_most_of_the_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "{0} {0} 5 60 4 -1 -1 4 90 -1 1 7 {1} -1 -1 -1 -1 -1\n"
    log = tmp_path / "a.swf"
    log.write_text("; MaxProcs: 8\n" + "".join(line.format(job, job // 4) for job in range(5)))
    warning = "types are drawn for each project: '0' has 80 % of the jobs, and none is on-demand; another seed"
    assert cli.main(["prepare", str(log), "-o", str(tmp_path / "t.csv"), "--seed", "3"]) == 0
    assert capsys.readouterr().err.startswith(f"holdfast prepare: warning: {warning}")
    assert cli.main(["run", str(log), "-o", str(tmp_path / "o"), "--seed", "3", "--mechanism", "N-PAA"]) == 0
    shown = capsys.readouterr()
    assert f"holdfast run: warning: {warning}" in shown.err
    assert "5 jobs on 8 processors" in shown.out
    assert cli.main(["run", str(log), "-o", str(tmp_path / "p"), "--mechanism", "baseline"]) == 0
    assert "drawn" not in capsys.readouterr().err
    (tmp_path / "s.toml").write_text(
        f'mechanisms = ["N-PAA", "CUA-PAA"]\n[workload]\ntraces = ["{log}"]\n[assignment]\nseeds = [3, 4]\n'
    )
    assert cli.main(["sweep", str(tmp_path / "s.toml"), "-o", str(tmp_path / "sweep"), "--workers", "1"]) == 0
    error = capsys.readouterr().err
    assert error.count("drawn") == 1
    assert f"holdfast sweep: warning: in 2 of 2 job tables (first {log}, seed 3) {warning}" in error


def check_refusal(capsys: pytest.CaptureFixture[str], expected: str) -> None:
    """One sentence on standard error that names what is wrong."""
    error = capsys.readouterr().err
    assert error.startswith("holdfast")
    assert expected in error
    assert len(error.strip().splitlines()) == 1
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("rnu x", "holdfast: error: unknown command 'rnu'; did you mean run?; see 'holdfast --help'"),
        ("rnu --mechanims x", "holdfast: error: unknown command 'rnu'; did you mean run?; see 'holdfast --help'"),
        (
            "slurm compar",
            "holdfast slurm: error: unknown command 'compar'; did you mean compare?; see 'holdfast slurm --help'",
        ),
        (
            "slurm compare --jobz",
            "holdfast slurm compare: error: unknown option '--jobz'; see 'holdfast slurm compare --help'",
        ),
        (
            "info --lenientt=x",
            "holdfast info: error: unknown option '--lenientt'; did you mean --lenient",
        ),
        ("submit p.json -o s -- true --xyz", "p.json"),
    ],
)
def test_an_unknown_word_names_the_nearest_ones_before_what_is_missing(
    words: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status = cli.main(words.split())
    except SystemExit as stop:
        status = int(str(stop.code))
    assert status == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("--order fcfs,fcfs", "--order must be different values separated by commas, not 'fcfs,fcfs'"),
        ("--warmup 400d", "no job is left: a warmup of 9,600 h and a cooldown of 0 h, but all submits are within"),
    ],
)
def test_a_slip_in_a_list_or_a_window_is_named(
    option: str, sentence: str, year: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", str(year), "-o", str(tmp_path / "out"), "--mechanism", "baseline", *option.split()]) == 2
    assert sentence in capsys.readouterr().err


def test_generate_refuses_the_ending_of_another_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["generate", "-o", str(tmp_path / "year.json"), "--jobs", "10"]) == 2
    sentence = "--output must be a file that ends in .swf, .swf.gz, .csv, .csv.gz or .parquet, not "
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    for name in ("year", "year.gz", "year.SWF"):
        assert cli.main(["generate", "-o", str(tmp_path / name), "--jobs", "10"]) == 0


@pytest.mark.parametrize("name", ["year.csv", "year.csv.gz", "year.parquet"])
def test_a_generated_table_replays_as_the_generated_log_does(
    year: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    jobs = "600"
    assert cli.main(["generate", "-o", str(tmp_path / name), "--jobs", jobs, "--seed", "3"]) == 0
    output = capsys.readouterr().out
    assert output.startswith(
        f"{jobs} jobs written to {tmp_path / name}; a job table does not record the size of the machine"
    )
    more = output.split()[-2:]  # what it says to replay it with
    assert cli.main(["run", str(tmp_path / name), *more, "-o", str(tmp_path / "table")]) == 0
    assert cli.main(["run", str(year), "-o", str(tmp_path / "log")]) == 0
    assert (tmp_path / "table" / "jobs-baseline.csv").read_bytes() == (
        tmp_path / "log" / "jobs-baseline.csv"
    ).read_bytes()


#: The generated year begins at 2019-01-01 06:00 UTC.
BEGIN = datetime(2019, 1, 1, 6, tzinfo=UTC)


@pytest.mark.parametrize("how", [[], ["--stream"], ["--starting-state", "1d"]], ids=" ".join)
def test_the_measured_window_is_given_by_dates_as_well(
    year: Path, tmp_path: Path, how: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    log, words = str(year), ["--warmup", "2019-01-03T06:00", "--cooldown", "2019-01-05T18:30"]
    if how[:1] == ["--starting-state"]:  # needs a log with waits
        assert cli.main(["run", str(year), "-o", str(tmp_path / "waits"), "--events"]) == 0
        log = str(tmp_path / "waits.swf")
        assert cli.main(["export", str(tmp_path / "waits"), "-o", log]) == 0
    assert cli.main(["run", log, *how, *words, "-o", str(tmp_path / "out")]) == 0
    window = json.loads((tmp_path / "out" / "run.json").read_text())["measurement"]
    submits = [float(row["submit"]) for row in rows(tmp_path / "out" / "jobs-baseline.csv")]
    first, last = (BEGIN + timedelta(seconds=submit) for submit in (min(submits), max(submits)))
    if how[:1] == ["--starting-state"]:  # it begins at the last start before
        shown = capsys.readouterr().out.partition("starting state at ")[2]
        first = datetime.fromisoformat(f"{shown.partition(' UTC')[0]}+00:00")
    assert first + timedelta(seconds=window["warmup"]) == datetime(2019, 1, 3, 6, tzinfo=UTC)
    assert last - timedelta(seconds=window["cooldown"]) == datetime(2019, 1, 5, 18, 30, tzinfo=UTC)
    assert cli.main(["run", log, *how, "--warmup", "2018-12-31", "-o", str(tmp_path / "no")]) == 2
    assert "--warmup must be within the submits, 2019-01-0" in capsys.readouterr().err


def test_a_measured_window_by_dates_needs_a_log_with_dates(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(table), "--nodes", "16", "--cooldown", "2019-01-05"]) == 2
    assert "--cooldown: 2019-01-05 is a date, but" in capsys.readouterr().err
    assert cli.main(["run", str(table), "--nodes", "16", "--cooldown", "2019-13-05"]) == 2
    assert "--cooldown must be a duration, or a date such as 2022-03-01T12:00, not" in capsys.readouterr().err

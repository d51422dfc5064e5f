"""What-if questions about machines with partitions: starts worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast as hf
from holdfast.experiments.cli import main
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.logs.trace import Trace

#: Machine of whole nodes: a partition each for jobs with and without GPUs.
MACHINE = """
[[nodes]]
names = "n[1-{plain}]"
cores = 4

[[nodes]]
names = "g[1-{fast}]"
cores = 4
gpus = 2

[[partitions]]
name = "batch"
nodes = "n[1-{plain}]"
exclusive = true

[[partitions]]
name = "gpu"
nodes = "g[1-{fast}]"
exclusive = true
"""
#: Two jobs fill the GPU nodes one after the other; the wide job of batch waits for the narrow one.
LOG = """JobID|Submit|Start|End|State|Timelimit|User|Partition|NNodes|ReqTRES
1|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T04:00:00|COMPLETED|04:00:00|ada|gpu|1|cpu=4,node=1,gres/gpu=2
2|2026-01-01T00:00:00|2026-01-01T04:00:00|2026-01-01T05:00:00|COMPLETED|04:00:00|ben|gpu|1|cpu=4,node=1,gres/gpu=2
3|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T02:00:00|COMPLETED|02:00:00|ada|batch|1|cpu=4,node=1
4|2026-01-01T01:00:00|2026-01-01T02:00:00|2026-01-01T03:00:00|COMPLETED|02:00:00|ben|batch|2|cpu=8,node=2
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, plain, fast in (("today", 2, 1), ("more-gpus", 2, 2), ("narrow", 1, 2)):
        Path(f"{name}.toml").write_text(MACHINE.format(plain=plain, fast=fast))
    Path("log.txt").write_text(LOG)
    return tmp_path


def test_another_machine_is_an_alternative_to_todays(files: Path) -> None:
    answer = hf.whatif("log.txt", today={"machine": "today.toml"}, machine=["more-gpus.toml", "narrow.toml"], workers=1)
    assert [row["run"] for row in answer.rows] == [
        "as recorded", "today: fcfs, easy", "machine more-gpus", "machine narrow",
    ]  # fmt: skip
    # Job 2 waits 4 h for the GPUs, job 4 one hour for job 3; the log recorded the same.
    recorded, today, more, narrow = answer.rows
    assert recorded["wait_h"] == today["wait_h"] == (4 + 1) / 4
    assert (today["wait_max_h"], more["wait_max_h"]) == (4, 1)
    assert (more["wait_h"], more["wait_difference_h"]) == (1 / 4, -1)
    # Job 4 is wider than the narrow machine, on which no other job waits: -4 h over the three jobs that run on both.
    assert (narrow["wait_h"], narrow["wait_difference_h"]) == (0, -4 / 3)
    assert [contrast.left_out for contrast in answer.contrasts] == [0, 1]
    assert "jobs that cannot run are left out: 1 by machine narrow" in answer.text()


def test_orders_and_rules_are_replayed_on_todays_machine(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "whatif log.txt --order sjf --machine more-gpus.toml --together --workers 1 --report page.html"
    assert main([*words.split(), "--today", "backfilling=none,machine=today.toml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # Shortest job first: job 3 and then job 4 as before, and on the GPU node both ask for four hours.
    assert [line.split("  ")[0] for line in lines if line.startswith(("today:", "order", "machine", "all"))][:4] == [
        "today: fcfs, none", "order sjf", "machine more-gpus", "all changes together",
    ]  # fmt: skip
    page = Path("page.html").read_text()
    assert "machine more-gpus" in page
    assert "--machine more-gpus.toml" in page


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--machine today.toml", "given with today's machine: --today machine=FILE.toml"),
        ("--today machine=today.toml --nodes 3", "--nodes must be left out with today's machine"),
        ("--today machine=today.toml --limit jobs=3", "--limit must be left out with today's machine"),
        ("--today machine=today.toml,nodes=3 --order sjf", "today's nodes must be left out with today's machine"),
        ("--today machine=today.toml --machine today.toml", "machine today is today's rule"),
        ("--today machine=today.toml --machine more-gpus.toml,none.toml", "none.toml: no such file"),
        ("--today machine=today.toml --unit nodes --order sjf", "--unit must be left out with --machine"),
    ],
)
def test_one_sentence_names_the_remedy(
    words: str, expected: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", "log.txt", *words.split()]) == 2
    assert expected in capsys.readouterr().err


def test_a_machine_that_no_job_fits_is_refused(files: Path) -> None:
    alone = MACHINE.format(plain=1, fast=1).replace('"batch"', '"a"').replace('"gpu"', '"b"')
    Path("alone.toml").write_text(alone)
    with pytest.raises(InputError, match=r"alone\.toml: no job of the log fits this machine"):
        hf.whatif("log.txt", today={"machine": "today.toml"}, machine="alone.toml")


def test_a_trace_without_requests_is_refused(files: Path) -> None:
    with pytest.raises(InputError, match="today's machine needs the file of the log"):
        hf.whatif(Trace((), nodes=2), today={"machine": "today.toml"}, order="sjf")

"""Where a sequence stands, from what its scripts recorded and what sacct printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.accounting import parse_entries
from holdfast.experiments.slurm.job_chain import make_links
from holdfast.experiments.slurm.reservation_sequence import Sequence
from holdfast.experiments.slurm.status import SequenceStatus, locate_sequence
from holdfast.experiments.slurm.workdir import Record, Remains, read_remains, write_sequence
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.ground.errors import TraceError

PLAN = ReservationPlan(
    [1200, 2400, 4800], [True, True, False], CostModel(alpha=1, beta=0.5, gamma=100, checkpoint=60, restart=30)
)
SEQUENCE = Sequence(
    name="heat",
    program=["heat"],
    folder="/",
    nodes=2,
    options=[],
    history="",
    retries=1,
    links=make_links(PLAN, most=20, spare=0, margin=0.0),
    plan=PLAN.to_dict(),
    expected_cost=5000.0,
)
#: Two reservations ran: 22 minutes of which 1,260 s were used, and 22 of which 700 s were; Slurm cancelled the third.
SACCT = """JobIDRaw|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw
7|FAILED|85:0|1000|1000|1500|2760|1260|21
7.batch|FAILED|85:0|1000|1000|1500|2760|1260|
8|COMPLETED|0:0|1000|2760|2800|3500|700|22
9|CANCELLED by 0|0:0|1000|Unknown|3500|3500|0|41
"""


def locate(sacct: str, *records: Record, runtime: int | None = None, broken: str = "") -> SequenceStatus:
    remains = Remains({1: 7, 2: 8, 3: 9}, True, list(records), runtime, broken)
    return locate_sequence(SEQUENCE, remains, parse_entries(sacct, "sacct") if sacct else {})


def test_paid_is_what_ran_at_the_prices_of_the_plan() -> None:
    found = locate(SACCT, runtime=1870)
    assert (found.state, found.ran, found.waited) == ("done", 2, 540)
    assert (found.asked, found.used) == (43 * 60, 1960)
    assert found.paid == 43 * 60 + 0.5 * 1960 + 200
    # The plan: 1260 s used in full, then 1290 s asked for and 30 + 670 used (Equation 5 of [R]).
    assert found.planned == 1260 + 1290 + 0.5 * (1260 + 700) + 200
    assert found.planned_number == 2
    assert [row["outcome"] for row in found.rows] == ["saved", "-", "-"]
    text = found.text()
    assert "heat: done after 00:31:10 of work; 2 of 3 reservations ran" in text
    assert "paid 3,760 s: asked for 2,580 s, used 1,960 s, waited 540 s" in text
    assert "the plan pays 3,730 s for this runtime, with 2, and 5,000 s on average" in text


def test_states() -> None:
    assert locate(SACCT).state == "used up"
    assert locate(SACCT.replace("COMPLETED|0:0", "RUNNING|0:0")).state == "running"
    waiting = SACCT.replace("8|COMPLETED|0:0|1000|2760|2800|3500|700", "8|PENDING|0:0|1000|Unknown|Unknown|Unknown|0")
    found = locate(waiting)
    assert (found.state, found.ran) == ("waiting", 1)
    assert found.planned == 1260 * 1.5 + 100, "a reservation used in full"
    assert locate(SACCT, broken="it died").text().startswith("heat: ended: it died")


def test_without_accounting_the_records_tell() -> None:
    records = [Record(1, 7, 1500, 2760, "saved"), Record(2, 8, 2800, 3500, "done")]
    found = locate("", *records, runtime=1870)
    assert (found.state, found.ran, found.paid) == ("done", 2, locate(SACCT, runtime=1870).paid)


def test_command_reads_a_stored_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sequence(SEQUENCE, tmp_path / "run")
    assert cli.main(["status", str(tmp_path / "run")]) == 0
    assert "not submitted" in capsys.readouterr().out
    (tmp_path / "run" / "jobs").write_text("1 7\n2 8\n3 9\n")
    (tmp_path / "run" / "submitted").touch()
    (tmp_path / "run" / "done").write_text("1870\n")
    (tmp_path / "sacct.txt").write_text(SACCT)
    assert cli.main(["status", str(tmp_path / "run"), "--sacct", str(tmp_path / "sacct.txt")]) == 0
    assert capsys.readouterr().out == locate(SACCT, runtime=1870).text() + "\n"
    (tmp_path / "sacct.txt").write_text("JobIDRaw|Start\n")
    assert cli.main(["status", str(tmp_path / "run"), "--sacct", str(tmp_path / "sacct.txt")]) == 2
    assert "sacct.txt:1: " in capsys.readouterr().err
    (tmp_path / "run" / "sequence.json").write_text('{"format": 1}')
    assert cli.main(["status", str(tmp_path / "run")]) == 2
    assert "is not a sequence written by 'holdfast submit'" in capsys.readouterr().err


def test_records_that_no_script_wrote_are_refused(tmp_path: Path) -> None:
    (tmp_path / "records.tsv").write_text("1 7 1500 2760 saved 85\n2 8 later 3500 done 0\n")
    with pytest.raises(TraceError, match=r"records\.tsv:2: "):
        read_remains(tmp_path)

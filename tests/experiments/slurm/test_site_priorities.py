"""Priorities of a snapshot of a lab: those that Slurm's own sprio printed are the oracle."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.site_options import UNKNOWN_SHARES, SiteOptions
from holdfast.experiments.slurm.site_priorities import priority_rows, with_account_shares
from holdfast.experiments.slurm.site_snapshot import read_snapshot
from holdfast.policies.order import ORDERS

#: Waiting jobs of three accounts, three QOS and two partitions, after some hours and a plan with more CPUs than nodes.
SNAPSHOT = Path(__file__).parents[2] / "fixtures" / "slurm-priorities"


def test_each_priority_is_that_of_sprio() -> None:
    rows = priority_rows(read_snapshot(SNAPSHOT))
    assert len(rows) > 30
    assert {row["difference"] for row in rows} == {0}
    printed = {line.split()[0]: line.split() for line in (SNAPSHOT / "sprio.txt").read_text().splitlines()[1:]}
    for row in rows:
        # JOBID PARTITION USER PRIORITY SITE AGE ASSOC FAIRSHARE JOBSIZE PARTITION QOS NICE
        words = printed[str(row["job_id"])]
        parts = [row[name] for name in ("priority", "age", "fairshare", "partition", "qos", "nice")]
        assert parts == [int(words[place]) for place in (3, 5, 7, 9, 10, 11)]
        assert abs(row["size"] - int(words[8])) <= 1


def test_without_sprio_the_plan_has_the_nodes_asked_for(tmp_path: Path) -> None:
    copy = shutil.copytree(SNAPSHOT, tmp_path / "copy")
    (copy / "sprio.txt").write_text("JOBID PARTITION USER PRIORITY\n")
    rows = {row["job_id"]: row for row in priority_rows(read_snapshot(copy))}
    with_sprio = {row["job_id"]: row for row in priority_rows(read_snapshot(SNAPSHOT))}
    assert rows.keys() == with_sprio.keys()
    for job, row in rows.items():
        assert row["difference"] is None
        # A CPU more of eight is a sixteenth of the factor; the calculation was at most a period ago.
        assert abs(row["priority"] - with_sprio[job]["priority"]) <= 7000 / 16 + 10_000 * 300 / 21_600 + 1


def test_shares_of_accounts_complete_the_order_of_a_site(tmp_path: Path) -> None:
    found = SiteOptions({"order": "multifactor age=5 fairshare=100"}, [], [(UNKNOWN_SHARES, "why"), ("other", "why")])
    sshare = SNAPSHOT / "sshare.txt"
    options = with_account_shares(found, str(sshare))
    # As the column RawShares has them; the user of the root account is beside the accounts.
    assert options.options["order"] == "multifactor age=5 fairshare=100 shares=chem:1+physics:3+root:1+science:1"
    assert options.left_out == [("other", "why")]
    assert ORDERS[options.options["order"]]
    for other in ({"order": "fcfs"}, {"order": "multifactor age=5"}):
        assert with_account_shares(SiteOptions(other), str(sshare)).options == other
    # Accounts below others, and shares of the parent, are not those of the order.
    deeper, parents = tmp_path / "deeper", tmp_path / "parents"
    deeper.write_text(sshare.read_text() + "  bio||1|1|0|0|0||1\n")
    parents.write_text(sshare.read_text().replace("chem||1|", "chem||parent|"))
    for path in (deeper, parents):
        assert with_account_shares(found, str(path)) is found


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["slurm", "priorities", str(SNAPSHOT), "-o", "p.csv"]) == 0
    count = len(Path("p.csv").read_text().splitlines()) - 1
    assert f"{count} of {count} priorities are those of sprio; {count} jobs wait" in capsys.readouterr().out
    assert cli.main(["slurm", "priorities", "."]) == 2
    assert (
        capsys.readouterr().err
        == "holdfast slurm priorities: error: .: is no snapshot; 'holdfast slurm snapshot -o DIR' makes one\n"
    )


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("config.txt", "PriorityType = priority/basic\n", "PriorityType must be priority/multifactor"),
        ("queue.json", '{"jobs": [{"job_state": "PENDING", "priority": 3}]}', "lacks times, sizes or names"),
        ("queue.json", "[]", "is not what 'squeue --json' prints"),
        ("sshare.txt", "Account|User\n", "has no column RawShares"),
        ("nodes.txt", "NodeName=n1\n", "does not say how many nodes and CPUs"),
    ],
)
def test_what_cannot_be_computed(
    file: str, text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(SNAPSHOT, tmp_path / "copy")
    (copy / file).write_text(text)
    assert cli.main(["slurm", "priorities", str(copy)]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1

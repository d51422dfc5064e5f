"""Shares of node-hours: those of a plain loop over the runs, in windows, and the sentence of ``holdfast gantt``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.experiments.cli import main
from holdfast.experiments.recordings.time_windows import Window
from holdfast.experiments.timelines.node_shares import node_share_sentence, node_shares
from holdfast.simulator import simulate
from holdfast.workloads.table.job import Job
from tests.support.jobs import rigid

#: One job after the other on a machine of 10 nodes: nodes, hours and user.
JOBS = [(10, 3, "ann"), (10, 1, "bob"), (10, 4, "ann"), (10, 2, "cat")]


def in_turn(users: list[str] | None = None) -> list[Job]:
    names = users or [user for _, _, user in JOBS]
    return [
        rigid(number + 1, 0, nodes, 3600 * hours, user=name)
        for number, ((nodes, hours, _), name) in enumerate(zip(JOBS, names, strict=True))
    ]


@settings(max_examples=40)
@given(st.integers(0, 9), st.integers(1, 10), st.booleans())
def test_shares_are_those_of_hours_in_turn(first: int, length: int, events: bool) -> None:
    last = min(first + length, 10)
    hours = [user for _, hours, user in JOBS for _ in range(hours)][first:last]
    expected = {user: hours.count(user) / len(hours) for user in set(hours)}
    found = node_shares(simulate(in_turn(), 10, events=events), "user", Window(f"{first}h", f"{last}h"))
    assert found == pytest.approx(expected)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_the_sentence_names_three_users_and_counts_the_others() -> None:
    assert node_share_sentence(simulate(in_turn(), 10)) == (
        "Of the used node-hours, user ann had 70 %, cat 20 % and bob 10 %."
    )
    four = simulate(in_turn(["a", "b", "c", "d"]), 10)
    assert node_share_sentence(four) == ("Of the used node-hours, user c had 40 %, a 30 %, d 20 % and 1 other 10 %.")
    unknown = simulate([replace(job, user="") for job in in_turn()], 10)
    assert node_share_sentence(unknown) == "The log names neither users nor projects."


def test_gantt_of_a_log_is_that_of_its_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.swf"
    assert main(["generate", "--jobs", "40", "-o", str(log)]) == 0
    assert main(["run", str(log), "-o", str(tmp_path / "out"), "--events"]) == 0
    capsys.readouterr()
    sentences, pages = [], []
    for source in ("log.swf", "out"):
        assert main(["gantt", str(tmp_path / source), "-o", str(tmp_path / "page.html")]) == 0
        sentences.append(capsys.readouterr().out.splitlines()[0])
        pages.append((tmp_path / "page.html").read_text().split('id="data">')[1].split("</script>")[0])
    assert sentences[0] == sentences[1]
    assert "had" in sentences[0]
    assert pages[0] == pages[1]

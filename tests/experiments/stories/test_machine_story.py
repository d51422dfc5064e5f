"""Stories, allocations and the Gantt page of a replay on a machine, worked out by hand, in memory and read back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments import cli
from holdfast.experiments.gantt.columns import page_columns
from holdfast.experiments.recordings.allocation_table import read_allocation_table
from holdfast.experiments.recordings.allocations import result_allocations
from holdfast.experiments.recordings.archive import read_recording
from holdfast.experiments.recordings.stored_allocations import read_allocations
from holdfast.experiments.stories.machine_story import MachineStories
from holdfast.experiments.stories.story import explain
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.machines.machine_file import read_machine

MACHINE = """
[[nodes]]
names = "n[1-2]"
cores = 4
memory = "8G"

[[nodes]]
names = "g1"
cores = 2
gpus = 2

[[partitions]]
name = "low"
nodes = "n[1-2]"
default = true

[[partitions]]
name = "high"
nodes = "n[1-2],g1"
priority = 9

[[limits]]
user = "eve"
per_user = {running = 1}
"""
LOG = """\
JobID|Submit|Start|End|State|Timelimit|User|Account|Partition|QOS|NNodes|ReqTRES
1|2026-01-01T00:00:00|Unknown|2026-01-01T01:00:00|COMPLETED|01:00:00|ada|a|low|q|1|cpu=3,mem=1G,node=1
2|2026-01-01T00:00:00|Unknown|2026-01-01T02:00:00|COMPLETED|02:00:00|eve|a|low|q|1|cpu=2,mem=1G,node=1
3|2026-01-01T00:10:00|Unknown|2026-01-01T03:00:00|COMPLETED|01:00:00|eve|a|low|q|1|cpu=1,mem=1G,node=1
4|2026-01-01T00:20:00|Unknown|2026-01-01T03:00:00|COMPLETED|01:00:00|bob|a|low|q|2|cpu=4,mem=2G,node=2
5|2026-01-01T00:30:00|Unknown|2026-01-01T03:00:00|COMPLETED|00:20:00|ada|a|high|q|1|cpu=2,node=1,gres/gpu=1
6|2026-01-01T00:40:00|Unknown|2026-01-01T03:00:00|COMPLETED|00:20:00|ada|a|high|q|1|cpu=1,mem=1G,node=1
"""


@pytest.fixture(scope="module")
def machine_replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("machine")
    (place / "machine.toml").write_text(MACHINE)
    rows = [line.split("|") for line in LOG.splitlines()[1:]]
    lines = [LOG.splitlines()[0]]
    ends = {"01:00:00": 1.0, "02:00:00": 2.0, "00:20:00": 1 / 3}
    for row in rows:
        # As recorded, each starts at its submit: its runtime is its walltime.
        hour, minute = int(row[1][11:13]), int(row[1][14:16])
        end = round(hour * 60 + minute + 60 * ends[row[5]])
        row[2], row[3] = row[1], f"2026-01-01T{end // 60:02}:{end % 60:02}:00"
        lines.append("|".join(row))
    (place / "log.txt").write_text("\n".join(lines) + "\n")
    out = place / "out"
    words = ["run", str(place / "log.txt"), "--machine", str(place / "machine.toml"), "-o", str(out)]
    assert cli.main(words) == 0
    return out


def command_output(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    capsys.readouterr()
    assert cli.main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def test_a_story_names_nodes_limits_and_later_jobs(machine_replay: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(command_output(capsys, "explain", machine_replay, 3).split())
    # Eve runs job 2 until 02:00.
    assert "Job 3 (1 node with 1 core and 1 GiB of memory in partition low, tier 1) waited 1 h 50 min" in text
    assert "1 h 50 min The limit of user=eve stopped it, for the last time until 2026-01-01 02:00." in text
    assert "ended on its nodes" not in text
    assert "Later job 6 of a higher tier started before it." in text
    assert "Later job 4 started before it on nodes of its partition." in text
    assert "2 of the 2 nodes of low that suit it had room for it as it started; pack takes" in text


def test_a_story_says_which_resource_was_lacking(machine_replay: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(command_output(capsys, "explain", machine_replay, 4).split())
    assert "waited 40 min" in text
    assert "40 min Too few nodes had room: when it came, 1 of the 2 nodes of low that suit it had room" in text
    assert "(not enough free cores on 1)" in text
    assert "It started as jobs 1 and 6 ended on its nodes." in text


def test_allocations_are_the_same_in_memory_and_read_back(machine_replay: Path) -> None:
    import holdfast as hf

    log, machine = machine_replay.parent / "log.txt", machine_replay.parent / "machine.toml"
    result = hf.simulate(hf.read_requests(log), machine=hf.read_machine(machine))
    there, here = read_allocations(machine_replay), result_allocations(result)
    assert there is not None
    assert here is not None
    assert there.jobs == here.jobs
    assert (there.machine.names, there.placement) == (here.machine.names, "pack")
    assert there.jobs[5].taken["gpus"] == (1,)
    assert there.jobs[4].nodes == (0, 1)
    recording = read_recording(machine_replay, events=False)
    assert page_columns(recording, None, there)["rectangles"] == page_columns(result)["rectangles"]
    assert "waited 40 min" in str(explain(result, 4))


def test_rows_of_the_page_are_cores_of_named_nodes(machine_replay: Path) -> None:
    columns: dict[str, Any] = page_columns(
        read_recording(machine_replay, events=False), None, read_allocations(machine_replay)
    )
    assert columns["hosts"] == {"names": ["n1", "n2", "g1"], "first": [0, 4, 8, 10]}
    assert columns["places"][4] == {"partition": "high", "on": "g1", "takes": "2 cores, 1 GPU", "stopped by": ""}
    shapes = columns["rectangles"]
    starts = [sum(shapes["d_start"][: place + 1]) for place in range(len(shapes["d_start"]))]
    columns_of = zip(shapes["job"], starts, shapes["length"], shapes["low"], shapes["size"], strict=True)
    drawn = {(columns["jobs"]["id"][job], *rest) for job, *rest in columns_of}
    minute = 60
    assert drawn == {
        (1, 0, 60 * minute, 0, 3),
        (2, 0, 120 * minute, 4, 2),
        (3, 120 * minute, 60 * minute, 0, 1),
        (4, 60 * minute, 60 * minute, 0, 2),
        (4, 60 * minute, 60 * minute, 6, 2),
        (5, 30 * minute, 20 * minute, 8, 2),
        (6, 40 * minute, 20 * minute, 3, 1),
    }


def test_tables_that_do_not_belong_together_are_refused(machine_replay: Path) -> None:
    allocations = read_allocations(machine_replay)
    assert allocations is not None
    other = replace(allocations, jobs={**allocations.jobs, 99: replace(allocations.jobs[1], job_id=99)})
    with pytest.raises(InputError, match="do not belong together"):
        MachineStories(read_recording(machine_replay, events=False), other)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ("1,low,n[1-9],,,3,1024,0", "the machine has no node n3"),
        ("1,mid,n1,,,3,1024,0", "the machine has no partition 'mid'"),
        ("1,low,n1,,,3 1,1024,0", "there must be one amount for each of the 1 nodes, not 2"),
        ("1,low,n1,,,x,1024,0", "amounts of nodes must be whole numbers, as in '2*4 1', not 'x'"),
    ],
)
def test_broken_tables_of_allocations_get_one_sentence(
    tmp_path: Path, machine_replay: Path, cells: str, sentence: str
) -> None:
    table = (machine_replay / "allocations-baseline.csv").read_text().splitlines()
    rest = ",".join(table[1].split(",")[8:])
    (tmp_path / "table.csv").write_text(f"{table[0]}\n{cells},{rest}\n")
    machine = read_machine(machine_replay / "machine.toml")
    with pytest.raises(TraceError) as refused:
        read_allocation_table(tmp_path / "table.csv", machine)
    assert sentence in str(refused.value)


def test_a_job_that_is_not_there_gets_one_sentence(machine_replay: Path) -> None:
    with pytest.raises(InputError, match="there is no job 9; the nearest ids are 4, 5, 6"):
        allocations = read_allocations(machine_replay)
        assert allocations is not None
        MachineStories(read_recording(machine_replay, events=False), allocations).story(9)


def test_results_on_machines_are_compared_by_partition_qos_and_account(
    machine_replay: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, log = machine_replay.parent / "other", machine_replay.parent / "log.txt"
    words = ["run", log, "--machine", machine_replay.parent / "machine.toml", "--backfilling", "none", "-o", other]
    command_output(capsys, *words)
    for by, groups in (("partition", {"low": 4, "high": 2}), ("qos", {"q": 6}), ("account", {"a": 6})):
        lines = command_output(capsys, "compare", machine_replay, other, "--by", by).splitlines()
        found = {line.split()[0]: int(line.split()[1]) for line in lines if line.split()[0] in groups}
        assert found == groups, by

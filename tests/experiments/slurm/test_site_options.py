"""Options of a simulation from a site's slurm.conf."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.site_options import SiteOptions, site_options
from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.order import ORDERS
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import InputError
from tests.shared_data import shared_file
from tests.support.jobs import rigid

#: The rule of a site that sets none of its parameters.
DEFAULT = "slurm window=86400 resolution=60 busy=0"


def read(tmp_path: Path, text: str) -> SiteOptions:
    path = tmp_path / "slurm.conf"
    path.write_text(text)
    found = site_options(path)
    # What it names is there.
    _ = ORDERS[found.options["order"]], BACKFILLING[found.options["backfilling"]]
    return found


def test_a_site(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """\
# A comment.
ClusterName=big   # another
schedulertype=sched/backfill
SchedulerParameters=bf_max_job_test=300,\\
bf_window=4320,bf_fancy,bf_busy_nodes
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightQOS=500
PriorityDecayHalfLife=14-0
PriorityMaxAge=1-12
PreemptType=preempt/qos
NodeName=DEFAULT CPUs=64
NodeName=a[001-100] RealMemory=1
NodeName=gpu[1-8],login State=UNKNOWN
PartitionName=batch Nodes=a[001-100] Default=YES
PartitionName=gpu Nodes=gpu[1-8]
Include other.conf
""",
    )
    assert found.options == {
        "nodes": "109",
        "order": "multifactor age=1000 fairshare=10000 qos=500 max_age=129600 period=300 half_life=1.2096e+06",
        "backfilling": "slurm most=300 window=259200 resolution=60",
    }
    left = dict(found.left_out)
    assert "factors=ACCOUNT:FACTOR" in left["priorities of QOS"]
    assert "shares=ACCOUNT:SHARES" in left["shares of accounts"]
    assert found.unknown == ["SchedulerParameters 'bf_fancy'"]
    assert "only on-demand jobs preempt" in left["PreemptType 'preempt/qos'"]
    assert "2 partitions (batch, gpu)" in left
    assert "is not read" in left["Include 'other.conf'"]
    assert found.harmless == 1  # ClusterName
    assert "1 other parameters" in found.text()


@pytest.mark.parametrize(
    ("text", "order", "backfilling"),
    [
        ("SchedulerType=sched/builtin", "fcfs", "none"),
        ("ClusterName=a", "fcfs", DEFAULT),
        (
            "SchedulerParameters=bf_job_part_count_reserve=1,bf_busy_nodes",
            "fcfs",
            "slurm depth=1 window=86400 resolution=60",
        ),
        ("PriorityType=priority/multifactor\nPriorityWeightAge=1", "fcfs", DEFAULT),
        ("PriorityType=priority/multifactor\nPriorityWeightJobSize=1", "multifactor size=1", DEFAULT),
        (
            "PriorityType=priority/multifactor\nPriorityWeightJobSize=1\nPriorityFavorSmall=YES",
            "multifactor size=1 small=1",
            DEFAULT,
        ),
        (
            "PriorityType=priority/multifactor\nPriorityWeightFairshare=5",
            "multifactor fairshare=5 half_life=604800",
            DEFAULT,
        ),
    ],
)
def test_orders_and_rules(text: str, order: str, backfilling: str, tmp_path: Path) -> None:
    found = read(tmp_path, text)
    assert (found.options["order"], found.options["backfilling"]) == (order, backfilling)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("what is this", "slurm.conf:1: is not a parameter"),
        ("# nothing\n", "holds no parameter"),
        ("ClusterName=a\nSchedulerParameters==bf_window=3", "slurm.conf:2: must have one '='"),
        ("SchedulerParameters=bf_max_job_test=many", "must be a whole number, not 'many'"),
        (
            "PriorityType=priority/multifactor\nPriorityWeightFairshare=1\nPriorityWeightAge=1\nPriorityMaxAge=soon",
            "PriorityMaxAge must be",
        ),
    ],
)
def test_what_is_no_configuration_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert sentence in str(error.value)


def test_what_scontrol_prints(capsys: pytest.CaptureFixture[str]) -> None:
    path = shared_file("slurm", "scontrol-show-config.txt")
    assert cli.main(["slurm", "options", str(path), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["options"] == {"order": "fcfs", "backfilling": "slurm most=1000 window=604800 resolution=1"}
    assert cli.main(["slurm", "options", str(path)]) == 0
    assert capsys.readouterr().out.endswith(
        "\nholdfast run LOG -o DIR --mechanism baseline --order fcfs --backfilling "
        "'slurm most=1000 window=604800 resolution=1'\n"
    )


def test_weights_alone_ask_for_priorities(tmp_path: Path) -> None:
    found = read(tmp_path, "PriorityWeightJobSize=100")
    assert found.options["order"] == "multifactor size=100"
    assert "older releases take priority/basic" in dict(found.left_out)["PriorityType"]


@pytest.mark.parametrize(
    ("age", "words"),
    [
        ("INFINITE", "age=2 size=1 max_age=4.29497e+09 period=300"),
        ("UNLIMITED", "age=2 size=1 max_age=4.29497e+09 period=300"),
        ("90", "age=2 size=1 max_age=5400 period=300"),
        ("12:00:00", "age=2 size=1 max_age=43200 period=300"),
        ("2-6:30", "age=2 size=1 max_age=196200 period=300"),
        ("7-00:00:00", "age=2 size=1 max_age=604800 period=300"),
        ("0", "size=1"),
    ],
)
def test_the_age_at_which_a_job_has_the_whole_weight(age: str, words: str, tmp_path: Path) -> None:
    weights = "PriorityType=priority/multifactor\nPriorityWeightAge=2\nPriorityWeightJobSize=1\n"
    assert read(tmp_path, f"{weights}PriorityMaxAge={age}").options["order"] == f"multifactor {words}"


def test_usage_that_never_decays(tmp_path: Path) -> None:
    text = "PriorityType=priority/multifactor\nPriorityWeightFairshare=5\nPriorityDecayHalfLife=0"
    assert read(tmp_path, text).options["order"] == "multifactor fairshare=5 half_life=1e+12"


def test_a_value_that_slurm_refuses_is_its_default(tmp_path: Path) -> None:
    found = read(tmp_path, "SchedulerParameters=bf_window=0,bf_max_job_test=0,bf_resolution=90000,bf_busy_nodes")
    assert found.options["backfilling"] == "slurm window=86400 resolution=60"
    assert dict(found.left_out)["bf_window=0"] == "is not from 1 to 43,200; Slurm takes its default, 1,440"
    assert {"bf_max_job_test=0", "bf_resolution=90000"} <= set(dict(found.left_out))


def test_the_interval_of_backfilling_is_reported_also_by_default(tmp_path: Path) -> None:
    assert "bf_interval=30, the default" in dict(read(tmp_path, "ClusterName=a").left_out)
    assert "bf_interval=5" in dict(read(tmp_path, "SchedulerParameters=bf_interval=5").left_out)
    builtin = read(tmp_path, "SchedulerType=sched/builtin\nSchedulerParameters=bf_window=7,default_queue_depth=3")
    assert [what for what, _ in builtin.left_out if "_" in what] == ["default_queue_depth=3"]


SHARED_SITE = """\
ClusterName=big
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
AccountingStorageEnforce=associations,limits,qos
Mystery=42
SchedulerParameters=bf_window=100,=x
NodeName=DEFAULT CPUs=64 RealMemory=256000 Colour=blue
NodeName=a[1-10]
NodeName=g[1-2] Gres=gpu:a100:4 RealMemory=512000 Feature=nvme
NodeName=z[1-3] State=FUTURE
NodeName=b1 State=DOWN
PartitionName=DEFAULT MaxTime=1-0 State=UP
PartitionName=batch Nodes=a[1-10] Default=YES
PartitionName=gpu Nodes=g[1-2] MaxTime=UNLIMITED PriorityTier=10 QOS=part_gpu Flavour=sweet
"""


def test_what_decides_when_jobs_start_is_reported_and_nothing_else_is_harmless(tmp_path: Path) -> None:
    found = read(tmp_path, SHARED_SITE)
    left_out = dict(found.left_out)
    assert found.options["nodes"] == "13"
    assert set(left_out) >= {
        "SelectType 'select/cons_tres'",
        "SelectTypeParameters 'CR_Core_Memory'",
        "GresTypes 'gpu'",
        "AccountingStorageEnforce 'associations,limits,qos'",
        "2 partitions (batch, gpu)",
        "MaxTime of partitions (batch 1-0)",
        "PriorityTier of partitions (gpu 10)",
        "QOS of partitions (gpu part_gpu)",
        "Gres of 2 nodes (gpu:a100:4)",
        "RealMemory of nodes (256,000 to 512,000 MB)",
        "nodes that differ in memory, GPUs, features",
        "State of 1 node (down or drained)",
    }
    assert found.unknown == [
        "SchedulerParameters '=x'",
        "Mystery '42'",
        "NodeName ... colour 'blue'",
        "PartitionName ... flavour 'sweet'",
    ]
    assert found.harmless == 1  # ClusterName


def test_whole_nodes_need_no_remark(tmp_path: Path) -> None:
    text = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nNodeName=a[1-4] CPUs=4\n"
    sharing = read(tmp_path, f"{text}PartitionName=p Nodes=ALL")
    assert {"SelectType 'select/cons_tres'", "SelectTypeParameters 'CR_Core'"} <= set(dict(sharing.left_out))
    whole = read(tmp_path, f"{text}PartitionName=p Nodes=ALL OverSubscribe=EXCLUSIVE")
    assert [what for what, _ in whole.left_out] == ["bf_interval=30, the default"]


def test_what_scontrol_shows_of_nodes_and_partitions(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("SelectType=select/linear\nNodeName=old[1-50]\nPartitionName=a Nodes=ALL\n")
    node = (
        "NodeName={} Arch=x86_64 CoresPerSocket=8\n   CPUAlloc=0 CPUTot=16\n   AvailableFeatures=(null)\n   Gres={}\n"
    )
    node += "   OS=Linux 6.1 #1 SMP Debian\n   RealMemory=1000 Weight=1 State={}\n\n"
    shown = node.format("n1", "(null)", "IDLE") + node.format("n2", "gpu:2(S:0-1)", "IDLE+DRAIN")
    (tmp_path / "nodes.txt").write_text(shown)
    (tmp_path / "partitions.txt").write_text(
        "PartitionName=day\n   AllowGroups=ALL AllowQos=ALL\n   MaxTime=1-00:00:00 QoS=N/A PriorityTier=1\n"
        "   OverSubscribe=FORCE:4 State=UP TotalNodes=2\n\nPartitionName=week\n   AllowGroups=ALL MaxTime=UNLIMITED\n"
    )
    found = site_options(*(tmp_path / name for name in ("slurm.conf", "nodes.txt", "partitions.txt")))
    assert found.options["nodes"] == "2"
    assert {what for what, _ in found.left_out} == {
        "bf_interval=30, the default",
        "2 partitions (day, week)",
        "MaxTime of partitions (day 1-00:00:00)",
        "OverSubscribe of partitions (day FORCE:4)",
        "Gres of 1 node (gpu:2(S:0-1))",
        "RealMemory of nodes (1,000 MB)",
        "nodes that differ in GPUs",
        "State of 1 node (down or drained)",
    }
    assert not found.unknown


def test_a_real_slurm_prints_nothing_unknown() -> None:
    paths = [shared_file("slurm", name) for name in ("scontrol-show-config.txt", "scontrol-show-node.txt")]
    found = site_options(*paths)
    assert found.unknown == []
    assert {"SelectType 'select/cons_tres'", "AccountingStorageEnforce 'associations,qos'"} <= set(dict(found.left_out))


def test_the_default_window_and_resolution_change_starts() -> None:
    """The job 3 of 30 minutes would delay job 2, which starts in 25 hours: beyond the window it does not count."""
    day, hour = 86_400, 3600
    jobs = [rigid(1, 0, 3, day + hour), rigid(2, 1, 4, hour), rigid(3, 2, 1, 30 * hour)]
    started = {
        rule: [record.start for record in simulate(jobs, 4, "baseline", backfilling=rule).records]
        for rule in ("slurm busy=0", DEFAULT)
    }
    assert started["slurm busy=0"][2] > started[DEFAULT][2] == 2_000_000

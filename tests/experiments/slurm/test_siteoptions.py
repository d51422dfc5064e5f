"""Options of a simulation from a site's slurm.conf."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments import cli
from experiments.slurm.siteoptions import SiteOptions, site_options
from policies.backfilling import BACKFILLING
from policies.order import ORDERS
from tests.shared_data import shared_file
from workloads.ground.errors import InputError


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
        "order": "multifactor age=1000 fairshare=10000 qos=500 max_age=129600 half_life=1.2096e+06",
        "backfilling": "slurm most=300 window=259200",
    }
    left = dict(found.left_out)
    assert "factors=ACCOUNT:FACTOR" in left["priorities of QOS"]
    assert "accounts=N" in left["shares of accounts"]
    assert left["bf_fancy"] == "not known"
    assert "only on-demand jobs preempt" in left["preempttype 'preempt/qos'"]
    assert "2 partitions (batch, gpu)" in left
    assert "is not read" in left["include 'other.conf'"]
    assert "1 other parameters" in found.text()


@pytest.mark.parametrize(
    ("text", "order", "backfilling"),
    [
        ("SchedulerType=sched/builtin", "fcfs", "none"),
        ("ClusterName=a", "fcfs", "slurm busy=0"),
        ("SchedulerParameters=bf_job_part_count_reserve=1,bf_busy_nodes", "fcfs", "slurm depth=1"),
        ("PriorityType=priority/multifactor\nPriorityWeightAge=1", "fcfs", "slurm busy=0"),
        ("PriorityType=priority/multifactor\nPriorityWeightJobSize=1", "largest", "slurm busy=0"),
        (
            "PriorityType=priority/multifactor\nPriorityWeightJobSize=1\nPriorityFavorSmall=YES",
            "smallest",
            "slurm busy=0",
        ),
        (
            "PriorityType=priority/multifactor\nPriorityWeightFairshare=5",
            "multifactor fairshare=5 half_life=604800",
            "slurm busy=0",
        ),
    ],
)
def test_orders_and_rules(text: str, order: str, backfilling: str, tmp_path: Path) -> None:
    found = read(tmp_path, text)
    assert (found.options["order"], found.options["backfilling"]) == (order, backfilling)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("what is this", "slurm.conf:1: is no parameter"),
        ("# nothing\n", "holds no parameter"),
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
    told = json.loads(capsys.readouterr().out)
    assert told["options"] == {"order": "fcfs", "backfilling": "slurm most=1000 window=604800 resolution=1"}
    assert cli.main(["slurm", "options", str(path)]) == 0
    assert capsys.readouterr().out.endswith(
        "\nholdfast run LOG -o DIR --mechanism baseline --order fcfs --backfilling "
        "'slurm most=1000 window=604800 resolution=1'\n"
    )

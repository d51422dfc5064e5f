"""Limits of a machine in the database of a lab: the commands, by hand, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from holdfast.experiments.slurm.lab_limits import limit_commands, set_limits
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.machine import Limit, Quota

LIMITS = (
    Limit("qos", "Small", Quota(gpus=1), Quota(nodes=3)),
    Limit("account", "chem", Quota(running=4, cores=8), Quota(cores=20)),
    Limit("user", "ada", together=Quota(running=1, memory=500)),
)
SHOWN = {
    "qos.txt": "Name|GrpJobs|GrpTRES|MaxJobsPU|MaxTRESPU\nnormal||||\nsmall|9|||\nold|||2|\n",
    "associations.txt": (
        "Account|User|GrpJobs|GrpTRES|MaxJobs\nchem||||\nchem|ada|||\nchem|ben|||\nphys||||\nphys|joe|||\n"
    ),
}


class FakeLab:
    """A lab whose database shows these tables, and that keeps its commands."""

    def __init__(self, *, accounting: bool = True) -> None:
        self.accounting = accounting
        self.commands: list[list[str]] = []

    def call(self, words: Sequence[str]) -> str:
        if "show" in words:
            return SHOWN["qos.txt" if "qos" in words else "associations.txt"]
        self.commands.append(list(words))
        return ""


def test_each_limit_is_set_and_others_are_taken_away() -> None:
    none = "node=-1,cpu=-1,mem=-1,gres/gpu=-1"
    own = "node=-1,cpu=8,mem=-1,gres/gpu=-1"
    # ada has the smaller of the limits of each user of chem and of her own.
    assert limit_commands(LIMITS, SHOWN) == [
        [
            *("qos", "small", "set", "GrpJobs=-1", "GrpTRES=node=3,cpu=-1,mem=-1,gres/gpu=-1"),
            *("MaxJobsPU=-1", "MaxTRESPU=node=-1,cpu=-1,mem=-1,gres/gpu=1"),
        ],
        ["qos", "old", "set", "GrpJobs=-1", f"GrpTRES={none}", "MaxJobsPU=-1", f"MaxTRESPU={none}"],
        ["account", "chem", "set", "GrpJobs=-1", "GrpTRES=node=-1,cpu=20,mem=-1,gres/gpu=-1"],
        ["user", "ada", "where", "account=chem", "set", "MaxJobs=1", "GrpTRES=node=-1,cpu=8,mem=500,gres/gpu=-1"],
        ["user", "ben", "where", "account=chem", "set", "MaxJobs=4", f"GrpTRES={own}"],
    ]


def test_limits_of_a_partition_are_those_of_its_qos() -> None:
    limit = Limit("partition", "Work", Quota(running=2), Quota(cores=6))
    shown = {"qos.txt": "Name|GrpJobs\nnormal|\npartition.work|\n", "associations.txt": "Account|User\n"}
    assert limit_commands([limit], shown) == [
        [
            *("qos", "partition.work", "set", "GrpJobs=-1", "GrpTRES=node=-1,cpu=6,mem=-1,gres/gpu=-1"),
            *("MaxJobsPU=2", "MaxTRESPU=node=-1,cpu=-1,mem=-1,gres/gpu=-1"),
        ]
    ]


def test_the_database_of_a_lab_gets_the_limits() -> None:
    lab = FakeLab()
    set_limits(lab, LIMITS, [("chem", "ada"), ("phys", "joe")])  # type: ignore[arg-type]
    assert [words[:5] for words in lab.commands] == [["sacctmgr", "-n", "-i", "modify", kind] for kind in
                                                 ("qos", "qos", "account", "user", "user")]  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "members", "accounting", "sentence"),
    [
        (LIMITS[0], [], False, "the machine has limits, which need a database: start the lab with --accounting"),
        (
            Limit("partition", "Work", together=Quota(nodes=1)),
            [],
            True,
            "the lab was started without the limits of partition Work: start it with them",
        ),
        (LIMITS[2], [("chem", "ada"), ("phys", "ada")], True, "the jobs of ada have several"),
    ],
)
def test_limits_that_a_lab_cannot_have_are_refused(
    limit: Limit, members: list[tuple[str, str]], accounting: bool, sentence: str
) -> None:
    lab = FakeLab(accounting=accounting)
    with pytest.raises(InputError, match=sentence):
        set_limits(lab, [limit], members)  # type: ignore[arg-type]
    assert not lab.commands

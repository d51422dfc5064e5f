"""Machines in TOML: what is read, what is refused and how, and that writing and reading give the same machine."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.host_list import fold
from holdfast.workloads.machines.machine import Limit, Machine, NodeKind, Partition, Quota
from holdfast.workloads.machines.machine_file import machine_text, make_machine, one_pool, read_machine, write_machine

_WHOLE = """
qos = ["normal", "high"]

[[nodes]]
names = "n[1-87]"
cores = 32
memory = "187000M"
gpus = {v100 = 2}
features = ["cpu-gold-6130", "opa"]
weight = 60

[[nodes]]
names = "g[1-8]"
cores = 16
gpus = 4

[[partitions]]
name = "general"
nodes = "n[1-87],g[1-8]"
priority = 100
max_time = "72h"
default = true

[[partitions]]
name = "gpu"
nodes = "g[1-8]"
exclusive = true
memory_per_core = "2G"

[[limits]]
qos = "normal"
per_user = {running = 20, submitted = 100, nodes = 16, cores = 512, gpus = 8}
together = {gpus = 64, memory = "1T"}
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(_WHOLE)
    machine = read_machine(path)
    assert machine.kinds[0] == NodeKind(
        tuple(f"n{number}" for number in range(1, 88)), 32, 187_000, {"v100": 2}, ("cpu-gold-6130", "opa"), 60
    )
    assert machine.kinds[1] == NodeKind(tuple(f"g{number}" for number in range(1, 9)), 16, None, {"gpu": 4})
    general, gpu = machine.partitions
    assert (general.priority, general.exclusive, general.max_time, general.default) == (100, False, 259_200.0, True)
    assert (gpu.exclusive, gpu.memory_per_core, machine.places(gpu)) == (True, 2048, tuple(range(87, 95)))
    assert machine.limits == (Limit("qos", "normal", Quota(20, 100, 16, 512, None, 8), Quota(memory=2**20, gpus=64)),)
    assert machine.size == 95
    assert machine.total("cores") == 87 * 32 + 8 * 16
    assert machine.total("gpus", gpu.nodes) == 32


def _refusal(**changes: Any) -> str:
    tables: dict[str, Any] = {
        "nodes": [{"names": "n[1-4]", "cores": 8}],
        "partitions": [{"name": "a", "nodes": "n[1-4]"}],
        **changes,
    }
    with pytest.raises(InputError) as refused:
        make_machine(**tables)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        ([], "a machine must have nodes: add a table [[nodes]]"),
        ({"names": "n1", "cores": 1}, "nodes must be a list of tables [[nodes]], not {'names': 'n1', 'cores': 1}"),
        ([3], "nodes[0] must be a table, not 3"),
        ([{"cores": 8}], "nodes[0].names is missing"),
        ([{"names": "n1"}], "nodes[0].cores is missing"),
        ([{"names": "n1", "cores": 0}], "nodes[0].cores must be a whole number from 1 to 1,099,511,627,776, not 0"),
        ([{"names": "n1", "cores": -3}], "nodes[0].cores must be a whole number from 1 to 1,099,511,627,776, not -3"),
        ([{"names": "n1", "cores": 2.5}], "nodes[0].cores must be a whole number from 1 to 1,099,511,627,776, not 2.5"),
        ([{"names": "n1", "cores": float("nan")}], "nodes[0].cores must be a whole number from 1 to "
         "1,099,511,627,776, not nan"),
        ([{"names": "n1", "cores": True}], "nodes[0].cores must be a whole number from 1 to 1,099,511,627,776, "
         "not true"),
        ([{"names": "n1", "cores": 10**30}], "nodes[0].cores must be a whole number from 1 to 1,099,511,627,776, "
         "not 1000000000000000000000000000000"),
        ([{"names": "n1", "cores": "8"}], "nodes[0].cores must be a whole number from 1 to 1,099,511,627,776, not '8'"),
        ([{"names": 7, "cores": 8}], "nodes[0].names must be names in Slurm's syntax, such as \"n[1-4],login\", not 7"),
        ([{"names": "", "cores": 8}], "nodes[0].names must be at least one node, not ''"),
        ([{"names": "n[1-", "cores": 8}], "nodes[0].names: a list of nodes must be written like n[1-4,7],login, "
         "not 'n[1-'"),
        ([{"names": "n[1-1000000]", "cores": 8}], "nodes[0].names: a machine must have at most 200,000 nodes, and "
         "'n[1-1000000]' names more"),
        ([{"names": "n[1-150000]", "cores": 8}, {"names": "m[1-150000]", "cores": 8}],
         "a machine must have at most 200,000 nodes, not 300,000"),
        ([{"names": "n1,n1", "cores": 8}], "each node must have one description, and 'n1' is in nodes[0] twice"),
        ([{"names": "n[1-4]", "cores": 8}, {"names": "n[4-5]", "cores": 8}],
         "each node must have one description, and 'n4' is in nodes[0] and nodes[1]"),
        ([{"names": "n1", "cores": 8, "memory": "a lot"}], "nodes[0].memory must be an amount of memory such as "
         "\"187000M\" or \"1.5T\" (a number alone counts MiB), not 'a lot'"),
        ([{"names": "n1", "cores": 8, "memory": float("nan")}], "nodes[0].memory must be an amount of memory such as "
         "\"187000M\" or \"1.5T\" (a number alone counts MiB), not nan"),
        ([{"names": "n1", "cores": 8, "memory": -5}], "nodes[0].memory must be an amount of memory such as "
         "\"187000M\" or \"1.5T\" (a number alone counts MiB), not -5"),
        ([{"names": "n1", "cores": 8, "memory": "9999999999P"}], "nodes[0].memory must be at most 1,099,511,627,776 "
         "MiB, not '9999999999P'"),
        ([{"names": "n1", "cores": 8, "gpus": "two"}], "nodes[0].gpus must be a whole number from 0 to "
         "1,099,511,627,776, not 'two'"),
        ([{"names": "n1", "cores": 8, "gpus": {"v100": -1}}], "nodes[0].gpus.v100 must be a whole number from 0 to "
         "1,099,511,627,776, not -1"),
        ([{"names": "n1", "cores": 8, "features": "opa"}], "nodes[0].features must be a list of texts, such as "
         "[\"a\", \"b\"], not 'opa'"),
        ([{"names": "n1", "cores": 8, "features": ["a|b"]}], "nodes[0].features must be a name without blanks, "
         "commas, brackets, quotes, '&' and '|', not 'a|b'"),
        ([{"names": "n1", "cores": 8, "weight": -1}], "nodes[0].weight must be a whole number from 0 to "
         "4,294,967,295, not -1"),
        ([{"names": "n1", "core": 8}], "nodes[0]: unknown key 'core': did you mean cores? known are names, cores, "
         "memory, gpus, features, weight"),
    ],
)  # fmt: skip
def test_nodes_that_are_refused(nodes: Any, sentence: str) -> None:
    assert _refusal(nodes=nodes) == sentence


@pytest.mark.parametrize(
    ("partitions", "sentence"),
    [
        ([], "a machine must have a partition: add a table [[partitions]]"),
        ([{"name": "a", "nodes": ""}], "partitions[0].nodes must be at least one node, not ''"),
        ([{"name": "a", "nodes": []}], "partitions[0].nodes must be at least one node, not []"),
        ([{"name": "a"}], "partitions[0].nodes is missing"),
        ([{"name": "a", "nodes": "n[3-6]"}], "partitions[0]: partition 'a' names 'n5' and 1 others, but the nodes are "
         "n[1-4]"),
        ([{"name": "a", "nodes": "n[1-2],n2"}], "partitions[0]: partition 'a' names a node twice"),
        ([{"name": "a", "nodes": "n1"}, {"name": "a", "nodes": "n2"}], "partitions[1]: two partitions have the name "
         "'a'"),
        ([{"name": "a", "nodes": "n1", "default": True}, {"name": "b", "nodes": "n2", "default": True}],
         "one partition must be the default, not 2: a, b"),
        ([{"name": "a b", "nodes": "n1"}], "partitions[0].name must be a name without blanks, commas, brackets, "
         "quotes, '&' and '|', not 'a b'"),
        ([{"name": "a", "nodes": "n1", "max_time": "soon"}], "partitions[0].max_time must be a duration such as 90s, "
         "30m, 12h, 1h30m, 5y, 04:30:00, not 'soon'"),
        ([{"name": "a", "nodes": "n1", "max_time": "0s"}], "partitions[0].max_time must be a duration above 0 and up "
         "to 1,000,000,000,000 s, not 0.0"),
        ([{"name": "a", "nodes": "n1", "max_time": float("inf")}], "partitions[0].max_time must be a finite duration, "
         "not inf"),
        ([{"name": "a", "nodes": "n1", "exclusive": "yes"}], "partitions[0].exclusive must be true or false, "
         "not 'yes'"),
        ([{"name": "a", "nodes": "n1", "priority": -1}], "partitions[0].priority must be a whole number from 0 to "
         "4,294,967,295, not -1"),
        ([{"name": "a", "nodes": "n1", "exclusiv": True}], "partitions[0]: unknown key 'exclusiv': did you mean "
         "exclusive? known are name, nodes, priority, exclusive, max_time, default, memory_per_core"),
    ],
)  # fmt: skip
def test_partitions_that_are_refused(partitions: Any, sentence: str) -> None:
    assert _refusal(partitions=partitions) == sentence


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ({"together": {"gpus": 1}}, "limits[0] must be for one of qos, account, user, partition, not for none of them"),
        ({"qos": "a", "user": "b", "together": {"gpus": 1}}, "limits[0] must be for one of qos, account, user, "
         "partition, not for 2 of them"),
        ({"qos": "normal"}, "limits[0] must limit something: per_user or together needs at least one amount"),
        ({"qos": "norml", "together": {"gpus": 1}}, "limits[0]: unknown QOS 'norml': did you mean normal? known are "
         "normal, high"),
        ({"partition": "b", "together": {"gpus": 1}}, "limits[0]: unknown partition 'b': known are a"),
        ({"qos": "high", "together": {"gpu": 1}}, "limits[0].together: unknown key 'gpu': did you mean gpus? known are "
         "running, submitted, nodes, cores, memory, gpus"),
        ({"qos": "high", "together": {"gpus": -1}}, "limits[0].together.gpus must be a whole number from 0 to "
         "4,611,686,018,427,387,904, not -1"),
        ({"qos": "high", "together": 3}, "limits[0].together must be a table, not 3"),
    ],
)  # fmt: skip
def test_limits_that_are_refused(limit: Any, sentence: str) -> None:
    assert _refusal(limits=[limit], qos=["normal", "high"]) == sentence


def test_two_limits_of_one_name_are_refused() -> None:
    limit = {"user": "eve", "together": {"nodes": 1}}
    assert _refusal(limits=[limit, limit]) == "limits[1]: two limits are for the user 'eve'; join them"


def test_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text("[[nodes]]\nnames = 'n1'\ncores = 0\n")
    with pytest.raises(InputError, match=r"machine.toml: nodes\[0\].cores must be a whole number"):
        read_machine(path)
    path.write_text("[[nodes]\n")
    with pytest.raises(InputError, match=r"machine.toml:1: is not TOML: .* 'holdfast machine SOURCE -o FILE.toml'"):
        read_machine(path)


def test_all_nodes_are_one_word() -> None:
    machine = make_machine(nodes=[{"names": "n[1-4]", "cores": 8}], partitions=[{"name": "a", "nodes": "ALL"}])
    assert machine.places(machine.partitions[0]) == (0, 1, 2, 3)
    # They stay one word, so that a node that is added to the file is in the partition.
    assert 'nodes = "ALL"' in machine_text(machine)
    larger = machine_text(machine).replace("n[1-4]", "n[1-6]")
    assert make_machine(**tomllib.loads(larger)).partitions[0].nodes == ("n1", "n2", "n3", "n4", "n5", "n6")
    assert machine.unused_node_count == 0
    smaller = make_machine(nodes=[{"names": "n[1-4]", "cores": 8}], partitions=[{"name": "a", "nodes": "n2"}])
    assert smaller.unused_node_count == 3


def test_the_first_partition_is_the_default_if_none_says_so() -> None:
    tables = [{"name": "a", "nodes": "n1"}, {"name": "b", "nodes": "n2"}]
    assert make_machine(nodes=[{"names": "n[1-2]", "cores": 8}], partitions=tables).default.name == "a"
    tables[1]["default"] = True  # type: ignore[assignment]
    assert make_machine(nodes=[{"names": "n[1-2]", "cores": 8}], partitions=tables).default.name == "b"


#: Without an alphabet, hypothesis first lists all characters of UTF-8, which takes two seconds.
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_WORDS = st.from_regex(r"[a-z][a-z0-9.-]{0,4}", fullmatch=True, alphabet=st.characters(max_codepoint=127))
_AMOUNTS = st.integers(0, 2**40)


@st.composite
def _machines(draw: st.DrawFn) -> Machine:
    counts = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    names = [[f"k{place}n{number}" for number in range(count)] for place, count in enumerate(counts)]
    kinds = tuple(
        NodeKind(
            tuple(own),
            draw(st.integers(1, 2**40)),
            draw(st.none() | _AMOUNTS),
            draw(st.dictionaries(_WORDS, st.integers(1, 2**40), max_size=2)),
            tuple(draw(st.lists(_WORDS, max_size=2))),
            draw(st.integers(0, 9)),
        )
        for own in names
    )
    every = [name for own in names for name in own]
    partitions = tuple(
        Partition(
            f"p{place}",
            tuple(draw(st.lists(st.sampled_from(every), min_size=1, unique=True))),
            draw(st.integers(0, 3)),
            draw(st.booleans()),
            draw(st.none() | st.floats(0.001, 1e12) | st.integers(1, 10**6).map(float)),
            place == 1,
            draw(st.none() | _AMOUNTS),
        )
        for place in range(draw(st.integers(1, 3)))
    )
    quotas = st.builds(Quota, *[st.none() | st.integers(0, 2**40)] * 6)
    limits = [
        Limit(scope, name, draw(quotas), Quota(running=draw(st.integers(0, 9))))
        for scope, name in draw(st.sets(st.tuples(st.sampled_from(["qos", "user", "account"]), _WORDS), max_size=3))
    ]
    return Machine(kinds, partitions, tuple(limits), origin=draw(_TEXTS), estimated=draw(st.booleans()))


@given(_machines())
def test_what_is_written_is_read_again(machine: Machine) -> None:
    assert make_machine(**tomllib.loads(machine_text(machine))) == machine


def test_a_file_is_written_and_read(tmp_path: Path) -> None:
    machine = one_pool(12)
    write_machine(machine, tmp_path / "m.toml")
    assert read_machine(tmp_path / "m.toml") == machine
    assert fold(machine.names) == "n[1-12]"

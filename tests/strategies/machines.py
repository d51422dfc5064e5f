"""Random machines and jobs on them: overlapping partitions, tiers, shared nodes, GPUs, memory, features, limits."""

from __future__ import annotations

from random import Random

from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.workloads.machines.machine import Limit, Machine, NodeKind, Partition, Quota
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.outage import Outage, OutageKind

__all__ = ["random_jobs", "random_machine", "random_outages", "with_lives"]

_FEATURES = ("a", "b", "c")
_KINDS = ("gpu", "v100", "a100")


def random_machine(random: Random) -> Machine:
    """A machine of up to nine nodes."""
    kinds = []
    for place in range(random.randint(1, 3)):
        names = tuple(f"{'xyz'[place]}{number}" for number in range(1, random.randint(1, 3) + 1))
        gpus = {} if random.random() < 0.5 else {random.choice(_KINDS): random.randint(1, 4)}
        if random.random() < 0.1:
            gpus = {"v100": random.randint(1, 2), "a100": random.randint(1, 2)}
        memory = None if random.random() < 0.3 else random.randint(4, 16)
        features = tuple(name for name in _FEATURES if random.random() < 0.5)
        kinds.append(NodeKind(names, random.choice((1, 2, 4, 8)), memory, gpus, features, random.choice((1, 1, 5))))
    random.shuffle(kinds)
    every = [name for kind in kinds for name in kind.names]
    partitions = []
    for place in range(random.randint(1, 3)):
        chosen = every if random.random() < 0.4 else random.sample(every, random.randint(1, len(every)))
        partitions.append(
            Partition(
                f"p{place}",
                tuple(chosen),
                random.choice((1, 1, 2)),
                random.random() < 0.25,
                random.choice((None, None, 60.0)),
                place == 0,
                random.choice((None, None, 1)),
            )
        )
    limits = []
    for scope, names in (("qos", "qr"), ("account", "st"), ("user", "uv"), ("partition", ("p0",))):
        if random.random() < 0.25:
            limits.append(Limit(scope, random.choice(names), _quota(random), _quota(random) or Quota(running=3)))
    return Machine(tuple(kinds), tuple(partitions), tuple(limits))


def _quota(random: Random) -> Quota:
    amounts = {"running": 2, "nodes": 3, "cores": 6, "memory": 12, "gpus": 3}
    chosen = {name: random.randint(1, most) for name, most in amounts.items() if random.random() < 0.3}
    return Quota(**chosen) if chosen else Quota(running=random.randint(1, 3))


def random_jobs(random: Random, machine: Machine, count: int) -> list[MachineJob]:
    """Jobs that come faster than they can run; times are whole seconds, so that many events fall together."""
    submit = 0
    jobs = []
    for number in range(count):
        submit += random.choice((0, 1, 3, 8))
        walltime = random.choice((1, 5, 10, 20, 40, 80))
        runtime = walltime if random.random() < 0.4 else random.randint(1, 100)
        request = _request(random, machine, submit)
        jobs.append(MachineJob(number, submit, walltime, runtime, request, random.choice("uvw")))
    return jobs


def with_lives(random: Random, jobs: list[MachineJob]) -> list[MachineJob]:
    """The jobs, some of which are cancelled or depend on an earlier one."""
    found: list[MachineJob] = []
    for place, job in enumerate(jobs):
        lived = job
        if random.random() < 0.4:
            lived = lived._replace(cancelled_at=job.submit + random.choice((0, 1, 5, 20, 60)))
        if place and random.random() < 0.4:
            think = random.choice((None, 0, 1, 10))
            lived = lived._replace(preceding=random.choice(jobs[:place]).job_id, think_time=think)
        found.append(lived)
    return found


def random_outages(random: Random, machine: Machine, jobs: list[MachineJob]) -> list[Outage]:
    """Outages of a partition, or of a few nodes, while the jobs run."""
    last = max(int(job.submit) for job in jobs)
    found = []
    for _ in range(random.randint(1, 4)):
        kind = random.choice(list(OutageKind))
        start = random.randint(-20, last + 40)
        partition = random.choice(machine.partitions)
        names = random.sample(machine.names, random.randint(1, min(3, machine.size)))
        size, on = random.choice(((len(partition.nodes), partition.name), (len(names), ",".join(names))))
        known = start - random.choice((0, 3, 30)) if kind is not OutageKind.FAILURE and random.random() < 0.5 else None
        chosen = tuple(random.sample([job.job_id for job in jobs], 2)) if kind is OutageKind.RESERVATION else ()
        mode = "wait" if kind is not OutageKind.FAILURE and random.random() < 0.3 else "preempt"
        place = random.random() if kind is OutageKind.FAILURE else None
        end = start + random.choice((1, 5, 20, 60))
        users = ("u",) if chosen and random.random() < 0.3 else ()
        found.append(Outage(kind, start, end, size, known, mode, place, "", chosen, users, (), on))
    return found


def _request(random: Random, machine: Machine, submit: int) -> ResourceRequest:
    names = [partition.name for partition in machine.partitions]
    partitions = () if random.random() < 0.3 else tuple(random.sample(names, random.randint(1, min(2, len(names)))))
    shape = random.random()
    nodes = tasks = per_node = None
    if shape < 0.6:
        nodes = random.choice((1, 1, 1, 2, 3))
    elif shape < 0.8:
        tasks, per_node = random.randint(1, 9), random.randint(1, 4)
    elif shape < 0.9:
        tasks = random.randint(1, 12)
    else:
        nodes, tasks = random.randint(1, 3), random.randint(1, 6)
    gpus = {} if random.random() < 0.7 else {random.choice(_KINDS): random.randint(1, 2)}
    features = "" if random.random() < 0.7 else random.choice(("a", "b", "a&b", "a|c", "a&b|c"))
    return ResourceRequest(
        nodes,
        tasks,
        per_node,
        random.choice((1, 1, 2, 4)),
        None if random.random() < 0.5 else random.randint(1, 8),
        random.random() < 0.4,
        gpus,
        features,
        partitions,
        random.random() < 0.1,
        random.choice(("q", "r", "")),
        random.choice(("s", "t")),
        None if random.random() < 0.9 else submit + random.randint(-5, 20),
    )

"""A site's configuration: which options of a simulation it asks for, and what of it no option says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from experiments.slurm.links import MINUTE
from workloads.ground.errors import InputError, TraceError, shown
from workloads.ground.files import read_text
from workloads.ground.numbers import decimal
from workloads.logs.nodenames import NamedNodes
from workloads.logs.sacctvalues import clock_of

__all__ = ["SiteOptions", "site_options"]

_DAY = 86_400.0
#: What Slurm does where a file does not say it (slurm.conf of 22.05).
_DEFAULTS = {
    "schedulertype": "sched/backfill",
    "prioritytype": "priority/basic",
    "prioritydecayhalflife": "7-0",
    "prioritymaxage": "7-0",
    "priorityfavorsmall": "NO",
}
#: SchedulerParameters that matter to when jobs start, and why the simulation does without them.
_WITHOUT = {
    "bf_interval": "passes are at events, not at intervals",
    "bf_window_linear": "the precision of ends doubles at each step",
    "bf_continue": "a pass sees one state of the machine",
    "bf_yield_interval": "a pass takes no time",
    "bf_yield_sleep": "a pass takes no time",
    "bf_max_time": "a pass takes no time",
    "bf_max_job_part": "no limit for a partition",
    "bf_max_job_assoc": "no limit for an account",
    "bf_max_job_start": "no limit of starts in a pass",
    "bf_min_age_reserve": "each waiting job may hold a reservation at once",
    "bf_min_prio_reserve": "each waiting job may hold a reservation",
    "default_queue_depth": "the whole queue is looked at",
    "partition_job_depth": "the whole queue is looked at",
    "sched_interval": "passes are at events, not at intervals",
    "sched_min_interval": "passes are at events, not at intervals",
    "batch_sched_delay": "passes are at events, at once",
    "defer": "passes are at events, at once",
}
_WEIGHTS = {
    "priorityweightage": "age",
    "priorityweightfairshare": "fair share",
    "priorityweightjobsize": "job size",
    "priorityweightqos": "QOS",
    "priorityweightpartition": "partition",
    "priorityweightassoc": "association",
    "priorityweighttres": "TRES",
}
#: Parameters of the rule ``slurm``, and what their unit is in its own.
_RULE = {
    "bf_job_part_count_reserve": ("depth", 1),
    "bf_max_job_test": ("most", 1),
    "bf_max_job_user": ("user", 1),
    "bf_window": ("window", MINUTE),
    "bf_resolution": ("resolution", 1),
}
#: What the order ``multifactor`` knows, and by which names.
_FACTORS = {"age": "age", "fair share": "fairshare", "job size": "size", "QOS": "qos"}
#: Other parameters that decide when jobs start, their values that mean nothing, and why they are left out.
_LEFT_OUT = {
    "preempttype": (("preempt/none",), "only on-demand jobs preempt others"),
    "overtimelimit": (("0",), "jobs end at their limits"),
    "licenses": ((), "jobs use no licenses"),
    "priorityusageresetperiod": (("none",), "usage only decays"),
    "priorityflags": ((), "priorities are as the order says"),
    "topologyplugin": (("topology/none",), "nodes are alike wherever they are"),
    "include": ((), "the file that it names is not read"),
}
_NOTHING = ("", "(null)", "n/a", "none")


@dataclass
class SiteOptions:
    """Options of a simulation.

    Attributes
    ----------
    options
        Values by the name of the option, without dashes.
    understood
        For each what it comes from.
    left_out
        What of the file the simulation does without, and why.
    others
        How many parameters say nothing about when jobs start.
    """

    options: dict[str, str] = field(default_factory=dict)
    understood: list[tuple[str, str]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    others: int = 0

    def add(self, name: str, value: str, source: str) -> None:
        """Take an option."""
        self.options[name] = value
        self.understood.append((f"--{name} {shlex.quote(value)}", source))

    def command(self) -> str:
        """The command of a simulation with them."""
        words = " ".join(f"--{name} {shlex.quote(value)}" for name, value in self.options.items())
        return f"holdfast run LOG -o DIR --mechanism baseline {words}".rstrip()

    def text(self) -> str:
        """For a terminal."""
        lines = ["understood:"]
        lines += [f"  {option}: {source}" for option, source in self.understood]
        if self.left_out:
            lines += ["left out:", *(f"  {what}: {why}" for what, why in self.left_out)]
        if self.others:
            lines.append(f"{self.others:,} other parameters say nothing about when jobs start")
        return "\n".join([*lines, "", self.command()])


def site_options(path: str | Path) -> SiteOptions:
    """The options that a slurm.conf, or the output of ``scontrol show config``, asks for.

    Raises
    ------
    TraceError
        If it cannot be read, or a line is no parameter.
    """
    settings, nodes, partitions = _settings(path)
    found = SiteOptions()
    taken = {"schedulertype", "schedulerparameters", "prioritytype", *_WEIGHTS, *_LEFT_OUT}
    taken |= {"prioritydecayhalflife", "prioritymaxage", "priorityfavorsmall"}
    if nodes:
        found.add("nodes", str(nodes), f"{nodes:,} names in the lines of NodeName")
    else:
        found.left_out.append(("NodeName", "no line names the nodes; give their number with --nodes"))
    _order(path, settings, found)
    _backfilling(path, settings, found)
    for name, (harmless, why) in _LEFT_OUT.items():
        value = settings.get(name, "")
        if value.lower() not in (*_NOTHING, *harmless):
            found.left_out.append((f"{name} {shown(value)}", why))
    if len(partitions) > 1:
        told = ", ".join(partitions[:8]) + (", ..." if len(partitions) > 8 else "")
        found.left_out.append(
            (
                f"{len(partitions)} partitions ({told})",
                "one machine; --where partition=NAME --nodes N simulates one of them",
            )
        )
    found.others = sum(name not in taken for name in settings)
    return found


def _settings(path: str | Path) -> tuple[dict[str, str], int, list[str]]:
    """Parameters by their names in small letters, number of nodes, and names of partitions."""
    settings: dict[str, str] = {}
    names, partitions = NamedNodes(), []
    text = re.sub(r"\\\n", " ", read_text(path))
    told = text.startswith("Configuration data as of")
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip() if told else re.sub(r"(?<!\\)#.*", "", raw).strip()
        if not line or (told and "=" not in line):
            continue
        name, between, value = line.partition("=")
        if line.lower().startswith("include "):
            name, between, value = "include", "=", line[8:]
        if not between or not re.fullmatch(r"[A-Za-z_][\w.]*(\[\d+\])?", name.strip()):
            raise TraceError(path, number, f"is no parameter of slurm.conf: {shown(line)}")
        key = name.strip().lower()
        if key == "nodename":
            node = value.split()[0] if value.split() else ""
            if node.upper() != "DEFAULT":
                names.add(node)
        elif key == "partitionname":
            partition = value.split()[0] if value.split() else ""
            if partition.upper() != "DEFAULT":
                partitions.append(partition)
        else:
            settings[key] = value.strip().strip('"')
    if not settings:
        raise TraceError(path, None, "holds no parameter of slurm.conf")
    return settings, names.count, partitions


def _value(settings: Mapping[str, str], name: str) -> str:
    value = settings.get(name, "")
    return _DEFAULTS.get(name, "") if value.lower() in _NOTHING else value


def _order(path: str | Path, settings: Mapping[str, str], found: SiteOptions) -> None:
    """The order of the queue from PriorityType and its weights."""
    kind = _value(settings, "prioritytype")
    if kind != "priority/multifactor":
        if kind != "priority/basic":
            found.left_out.append((f"PriorityType {shown(kind)}", "taken as first come, first served"))
        found.add("order", "fcfs", f"PriorityType={kind}")
        return
    weights = {}
    for name, factor in _WEIGHTS.items():
        value = settings.get(name, "0")
        if name == "priorityweighttres":
            weights[factor] = 0.0 if value.lower() in (*_NOTHING, "0") else 1.0
        else:
            weights[factor] = _number(path, name, "0" if value.lower() in _NOTHING else value)
    used = [factor for factor, weight in weights.items() if weight]
    told = f"{kind} with " + (", ".join(f"{factor} {weights[factor]:g}" for factor in used) or "no weight")
    small = _value(settings, "priorityfavorsmall").lower() in ("yes", "1", "true")
    if used == ["job size"]:
        found.add("order", "smallest" if small else "largest", told)
    elif not weights["fair share"] and not weights["job size"] and not weights["QOS"]:
        found.add("order", "fcfs", told)
    else:
        found.add("order", " ".join(["multifactor", *_factors(path, settings, weights, small, found)]), told)
    for factor in used:
        if factor not in _FACTORS:
            found.left_out.append((f"the weight of the {factor}", "no order has it"))


def _factors(
    path: str | Path, settings: Mapping[str, str], weights: Mapping[str, float], small: bool, found: SiteOptions
) -> list[str]:
    """Parameters of the order ``multifactor``."""
    words = [f"{name}={weights[factor]:g}" for factor, name in _FACTORS.items() if weights[factor]]
    if weights["age"]:
        words.append(f"max_age={_seconds(path, 'PriorityMaxAge', _value(settings, 'prioritymaxage')):g}")
    if weights["fair share"]:
        half_life = _seconds(path, "PriorityDecayHalfLife", _value(settings, "prioritydecayhalflife"))
        if half_life:
            words.append(f"half_life={half_life:g}")
        else:
            found.left_out.append(("PriorityDecayHalfLife 0", "usage decays, by default in seven days"))
        found.left_out.append(
            ("shares of accounts", "are in Slurm's database; accounts=N adds that N of them share equally")
        )
    if weights["job size"] and small:
        words.append("small=1")
    if weights["QOS"]:
        found.left_out.append(
            ("priorities of QOS", "are in Slurm's database; factors=ACCOUNT:FACTOR+... gives those of accounts")
        )
    return words


def _backfilling(path: str | Path, settings: Mapping[str, str], found: SiteOptions) -> None:
    """The rule from SchedulerType and SchedulerParameters."""
    kind = _value(settings, "schedulertype")
    parameters = {}
    for word in settings.get("schedulerparameters", "").split(","):
        name, _, value = word.strip().partition("=")
        if name.lower() not in _NOTHING:
            parameters[name.lower()] = value
    if kind == "sched/builtin":
        found.add("backfilling", "none", "SchedulerType=sched/builtin")
    else:
        words, source = [], [f"SchedulerType={kind}"]
        if kind != "sched/backfill":
            found.left_out.append((f"SchedulerType {shown(kind)}", "taken as sched/backfill"))
        for name, (option, unit) in _RULE.items():
            if name in parameters:
                count = int(_number(path, name, parameters[name]))
                source.append(f"{name}={count}")
                if count:
                    words.append(f"{option}={count * unit}")
        busy = "bf_busy_nodes" in parameters
        source.append("bf_busy_nodes" if busy else "without bf_busy_nodes")
        found.add("backfilling", " ".join(["slurm", *words, *([] if busy else ["busy=0"])]), ", ".join(source))
    for name, value in parameters.items():
        if name in _WITHOUT:
            found.left_out.append((f"{name}{f'={value}' if value else ''}", _WITHOUT[name]))
        elif name not in (*_RULE, "bf_busy_nodes"):
            found.left_out.append((f"{name}{f'={value}' if value else ''}", "not known"))


def _number(path: str | Path, name: str, text: str) -> float:
    if not re.fullmatch(r"\d{1,12}", text):
        raise TraceError(path, None, f"{name} must be a whole number, not {shown(text)}")
    return float(text)


def _seconds(path: str | Path, name: str, text: str) -> float:
    """Seconds of minutes, ``hours:minutes:seconds``, ``days-hours`` or ``days-hours:minutes``."""
    try:
        days, _, rest = text.rpartition("-")
        if not days and ":" not in rest:
            return MINUTE * _number(path, name, rest)
        parts = [decimal(part) for part in rest.split(":")]
        if not days:
            return clock_of(rest, name)
        return _DAY * decimal(days) + sum(part * unit for part, unit in zip(parts, (3600.0, 60.0, 1.0), strict=False))
    except InputError:
        raise
    except ValueError:
        raise TraceError(path, None, f"{name} must be a time such as 7-0 or 12:00:00, not {shown(text)}") from None

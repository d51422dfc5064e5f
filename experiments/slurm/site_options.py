"""Conversion of a site's Slurm configuration to simulation options, with a list of settings that have no equivalent."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.experiments.slurm.job_chain import MINUTE
from holdfast.experiments.slurm.site_parameters import AFFECTING, HARMLESS, HARMLESS_SCHEDULING, SCHEDULING
from holdfast.experiments.slurm.site_resources import (
    has_whole_nodes,
    limit_remarks,
    node_remarks,
    partition_remarks,
    unknown_words,
)
from holdfast.experiments.terminal import escape
from holdfast.workloads.ground.errors import TraceError, format_value
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.logs.sacct_values import parse_clock
from holdfast.workloads.machines.slurm_conf import SiteConfiguration, is_set, read_configuration

__all__ = ["UNKNOWN_SHARES", "SiteOptions", "read_seconds", "site_options"]

#: What :attr:`SiteOptions.left_out` calls the shares of accounts.
UNKNOWN_SHARES = "shares of accounts"

_DAY = 86_400.0
#: Seconds of a time that is INFINITE: Slurm multiplies 2^32 - 1 minutes in 32 bits.
_INFINITE = 60 * (2**32 - 1) % 2**32
#: A half-life after which no usage of a log has decayed [s].
_NO_DECAY = 1e12
_WEIGHTS = {
    "priorityweightage": "age",
    "priorityweightfairshare": "fair share",
    "priorityweightjobsize": "job size",
    "priorityweightqos": "QOS",
    "priorityweightpartition": "partition",
    "priorityweightassoc": "association",
    "priorityweighttres": "TRES",
}
#: Factors supported by the order ``multifactor``, with their names there.
_FACTORS = {"age": "age", "fair share": "fairshare", "job size": "size", "QOS": "qos"}
#: Parameters that are converted to options, or that matter only together with them.
_TAKEN = frozenset(
    (
        *("schedulertype", "schedulerparameters", "prioritytype", *_WEIGHTS),
        *("prioritydecayhalflife", "prioritymaxage", "priorityfavorsmall", "prioritycalcperiod"),
    )
)
#: Settings that a machine's file holds, or that only choose how nodes are counted.
_ON_MACHINE = frozenset(
    (
        *("selecttype", "selecttypeparameters", "grestypes"),
        *("maxtime", "prioritytier", "oversubscribe", "shared", "defmempercpu"),
    )
)


@dataclass(frozen=True)
class _Word:
    """A setting of SchedulerParameters that the rule ``slurm`` supports.

    Attributes
    ----------
    option
        Parameter of the rule.
    unit
        One unit of Slurm in the unit of the rule.
    default, least, most
        Slurm's default, and the values that it takes. Source: slurm.conf of 22.05.
    """

    option: str
    unit: int
    default: int
    least: int
    most: int


_RULE = {
    "bf_job_part_count_reserve": _Word("depth", 1, 0, 0, 100_000),
    "bf_max_job_test": _Word("most", 1, 500, 1, 1_000_000),
    "bf_max_job_user": _Word("user", 1, 0, 0, 1_000_000),
    "bf_window": _Word("window", MINUTE, 1440, 1, 43_200),
    "bf_resolution": _Word("resolution", 1, 60, 1, 3600),
}
#: Settings with a default that differs from that of the rule.
_ALWAYS = ("bf_window", "bf_resolution")


@dataclass
class SiteOptions:
    """Options of a simulation.

    Attributes
    ----------
    options
        Values by the name of the option, without dashes.
    understood
        Origin of each option in the configuration.
    left_out
        Settings that affect starts and are not modelled, with the reason.
    unknown
        Parameters with unknown effect.
    harmless
        Number of parameters that do not affect starts.
    """

    options: dict[str, str] = field(default_factory=dict)
    understood: list[tuple[str, str]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    harmless: int = 0

    def add(self, name: str, value: str, source: str) -> None:
        """Add an option."""
        self.options[name] = value
        self.understood.append((f"--{name} {shlex.quote(value)}", source))

    def command(self) -> str:
        """Command line of a simulation with these options."""
        words = " ".join(f"--{name} {shlex.quote(value)}" for name, value in self.options.items())
        return f"holdfast run LOG -o DIR --mechanism baseline {words}".rstrip()

    def text(self) -> str:
        """Text for a terminal."""
        lines = ["understood:"]
        lines += [f"  {option}: {source}" for option, source in self.understood]
        if self.left_out:
            lines += ["not modelled, although jobs may start at other times:"]
            lines += [f"  {what}: {why}" for what, why in self.left_out]
        if self.unknown:
            lines += ["not known:", *(f"  {what}" for what in self.unknown)]
        if self.harmless:
            lines.append(f"{self.harmless:,} other parameters do not change when jobs start")
        return "\n".join([*map(escape, lines), "", self.command()])


def site_options(*paths: str | Path, machine: str | Path | None = None) -> SiteOptions:
    """Simulation options that correspond to a configuration.

    Parameters
    ----------
    paths
        slurm.conf, or the output of ``scontrol show config``, and perhaps of ``show node`` and ``show partition``.
    machine
        File of the machine that the same configuration describes: the options are then those of a replay on it, and
        what its file holds is not left out. None: one pool of equal nodes.

    Raises
    ------
    TraceError
        If one cannot be read, or a line is no parameter.
    """
    site = read_configuration(paths)
    found = SiteOptions()
    if machine is None:
        _nodes(site, found)
    else:
        found.add("machine", str(machine), "nodes and partitions of the configuration")
        found.add("placement", "slurm", "nodes as select/cons_tres chooses them")
    _order(paths[0], site, found)
    _backfilling(paths[0], site, found)
    if machine is not None:
        _restrict_to_machine(found)
    for name, value in site.settings.items():
        if machine is None or name not in _ON_MACHINE:
            _judge(site, name, value, found)
    unset = site.settings and not is_set(site.settings.get("selecttype", ""))
    if unset and machine is None and not has_whole_nodes(site):
        why = "is not set: each job has whole nodes, but Slurm 23.11 and later share them by default"
        found.left_out.append(("SelectType", why))
    if machine is None:
        found.left_out += partition_remarks(site) + node_remarks(site)
    else:
        found.left_out += limit_remarks(site, modelled=_ON_MACHINE)
    found.unknown += unknown_words(site)
    return found


def _restrict_to_machine(found: SiteOptions) -> None:
    """Replace the options that a replay on a machine does not have by the nearest ones."""
    order, rule = found.options["order"], found.options["backfilling"]
    instead = {}
    if order != "fcfs":
        instead["order"] = "fcfs"
        found.left_out.append((f"--order {shlex.quote(order)}", "a replay on a machine has no such priorities: fcfs"))
    if rule.startswith("slurm"):
        depth = re.search(r"depth=(\d+)", rule)
        instead["backfilling"] = f"easy depth={depth[1]}" if depth else "easy"
        planned = f"{depth[1]} jobs of each partition get" if depth else "one job of each partition gets"
        why = f"{planned} a plan; --backfilling conservative plans all jobs, and takes long for long logs"
        found.left_out.append((f"--backfilling {shlex.quote(rule)}", why))
    for place, (option, source) in enumerate(found.understood):
        name = option.split()[0].removeprefix("--")
        if name in instead:
            found.options[name] = instead[name]
            found.understood[place] = (f"--{name} {shlex.quote(instead[name])}", source)


def _nodes(site: SiteConfiguration, found: SiteOptions) -> None:
    """The size of the machine."""
    if site.nodes:
        # Nodes in state FUTURE are configured but do not exist.
        there = [line for line in site.nodes if not line.get("state", "").upper().startswith("FUTURE")]
        count, source = site.node_count(there), "by the names in the lines of NodeName"
    else:
        sizes = {line.get("totalnodes", "0") for line in site.partitions}
        size = sizes.pop() if len(sizes) == 1 else ""
        count = int(size) if re.fullmatch("[0-9]{1,9}", size) else 0
        source = "by the partition"
    if count:
        found.add("nodes", str(count), f"{count:,} {source}")
    else:
        found.left_out.append(("NodeName", "no line names the nodes; give their number with --nodes"))


def _judge(site: SiteConfiguration, name: str, value: str, found: SiteOptions) -> None:
    """Count a parameter as harmless, or report it."""
    plain = re.sub(r"\[\d+\]$", "", name)
    if plain in _TAKEN:
        return
    if not is_set(value) or plain in HARMLESS:
        found.harmless += 1
    elif plain not in AFFECTING:
        found.unknown.append(f"{site.names[name]} {format_value(value)}")
    else:
        harmless, why = AFFECTING[plain]
        words = [word.strip().lower() for word in value.split(",")]
        whole = plain.startswith("selecttype") and has_whole_nodes(site) and not any("memory" in word for word in words)
        if whole or value.lower() in harmless or all(word in harmless for word in words):
            found.harmless += 1
        else:
            found.left_out.append((f"{site.names[name]} {format_value(value)}", why))


def _order(path: str | Path, site: SiteConfiguration, found: SiteOptions) -> None:
    """The order of the queue from PriorityType and its weights."""
    weights = _weights(path, site.settings)
    used = [factor for factor, weight in weights.items() if weight]
    kind = site.value("prioritytype")
    if not kind:
        kind = "priority/multifactor" if used else "priority/basic"
        if used:
            found.left_out.append(
                ("PriorityType", f"is not set, taken as {kind} for its weights; older releases take priority/basic")
            )
    if kind != "priority/multifactor":
        if kind != "priority/basic":
            found.left_out.append((f"PriorityType {format_value(kind)}", "taken as first come, first served"))
        found.add("order", "fcfs", f"PriorityType={kind}")
        return
    weights_text = f"{kind} with " + (", ".join(f"{factor} {weights[factor]:g}" for factor in used) or "no weight")
    if not weights["fair share"] and not weights["job size"] and not weights["QOS"]:
        found.add("order", "fcfs", weights_text)
    else:
        found.add("order", " ".join(["multifactor", *_factors(path, site, weights, found)]), weights_text)
    for factor in used:
        if factor not in _FACTORS:
            found.left_out.append((f"the weight of the {factor}", "no order has it"))


def _weights(path: str | Path, settings: Mapping[str, str]) -> dict[str, float]:
    """The weights by factor; that of TRES is 1 where there is any."""
    weights = {}
    for name, factor in _WEIGHTS.items():
        value = settings.get(name, "0")
        if factor == "TRES":
            weights[factor] = float(is_set(value) and value != "0")
        else:
            weights[factor] = _number(path, name, value if is_set(value) else "0")
    return weights


def _factors(path: str | Path, site: SiteConfiguration, weights: Mapping[str, float], found: SiteOptions) -> list[str]:
    """Parameters of the order ``multifactor``."""
    words = [f"{name}={weights[factor]:g}" for factor, name in _FACTORS.items() if weights[factor]]
    if weights["age"]:
        age = read_seconds(path, "PriorityMaxAge", site.value("prioritymaxage", "7-0"))
        # With a maximum age of 0 all jobs get the whole weight, so age does not affect the order.
        period = read_seconds(path, "PriorityCalcPeriod", site.value("prioritycalcperiod", "5"))
        words = [*words, f"max_age={age:g}", f"period={period:g}"] if age else words[1:]
    if weights["fair share"]:
        half_life = read_seconds(path, "PriorityDecayHalfLife", site.value("prioritydecayhalflife", "7-0"))
        words.append(f"half_life={half_life or _NO_DECAY:g}")
        found.left_out.append((UNKNOWN_SHARES, "are in Slurm's database; shares=ACCOUNT:SHARES+... gives them"))
    if weights["job size"] and site.value("priorityfavorsmall").lower() in ("yes", "1", "true"):
        words.append("small=1")
    if weights["QOS"]:
        found.left_out.append(
            ("priorities of QOS", "are in Slurm's database; factors=ACCOUNT:FACTOR+... gives those of accounts")
        )
    return words


def _backfilling(path: str | Path, site: SiteConfiguration, found: SiteOptions) -> None:
    """The rule from SchedulerType and SchedulerParameters."""
    kind = site.value("schedulertype", "sched/backfill")
    parameters: dict[str, str] = {}
    for word in site.value("schedulerparameters").split(","):
        name, _, value = word.strip().partition("=")
        if name:
            parameters[name.lower()] = value
        elif value:
            found.unknown.append(f"SchedulerParameters {format_value(word)}")
    if kind == "sched/builtin":
        found.add("backfilling", "none", "SchedulerType=sched/builtin")
        # A setting of the backfill scheduler, which is disabled.
        parameters = {name: value for name, value in parameters.items() if not name.startswith("bf_")}
    else:
        if kind != "sched/backfill":
            found.left_out.append((f"SchedulerType {format_value(kind)}", "taken as sched/backfill"))
        words, source = _rule(path, parameters, found)
        found.add("backfilling", " ".join(["slurm", *words]), ", ".join([f"SchedulerType={kind}", *source]))
        if not is_set(parameters.get("bf_interval", "")):
            parameters["bf_interval"] = "30, the default"
    for name, value in parameters.items():
        setting = name + (f"={value}" if value else "")
        if name in SCHEDULING:
            found.left_out.append((setting, SCHEDULING[name]))
        elif name not in (*_RULE, "bf_busy_nodes", *HARMLESS_SCHEDULING):
            found.unknown.append(f"SchedulerParameters {format_value(setting)}")


def _rule(path: str | Path, parameters: Mapping[str, str], found: SiteOptions) -> tuple[list[str], list[str]]:
    """Parameters of the rule ``slurm``, and their origin in the configuration."""
    words, source = [], []
    for name, word in _RULE.items():
        count, default = word.default, name not in parameters
        if not default:
            count = int(_number(path, name, parameters[name]))
            if not word.least <= count <= word.most:
                why = f"is not from {word.least:,} to {word.most:,}; Slurm takes its default, {word.default:,}"
                found.left_out.append((f"{name}={count}", why))
                count, default = word.default, True
        if not default or name in _ALWAYS:
            source.append(f"{name}={count}" + (" by default" if default else ""))
            if count:
                words.append(f"{word.option}={count * word.unit}")
    busy = "bf_busy_nodes" in parameters
    source.append("bf_busy_nodes" if busy else "without bf_busy_nodes")
    return (words if busy else [*words, "busy=0"]), source


def _number(path: str | Path, name: str, text: str) -> float:
    if not re.fullmatch(r"\d{1,12}", text):
        raise TraceError(path, None, f"{name} must be a whole number, not {format_value(text)}")
    return float(text)


def read_seconds(path: str | Path, name: str, text: str) -> float:
    """Read a time of slurm.conf [s]: minutes, a clock time, ``days-hours``, ``days-hours:minutes`` or INFINITE."""
    if text.upper() in ("INFINITE", "UNLIMITED", "-1"):
        return float(_INFINITE)
    if re.fullmatch(r"[0-9]{1,9}", text):
        return MINUTE * decimal(text)
    days, _, rest = text.rpartition("-")
    if re.fullmatch(r"[0-9]{1,6}-[0-9]{1,6}(:[0-9]{1,6}){0,2}", text):
        parts = map(decimal, rest.split(":"))
        return _DAY * decimal(days) + sum(part * unit for part, unit in zip(parts, (3600.0, 60.0, 1.0), strict=False))
    try:
        return parse_clock(text, name)
    except ValueError:
        message = f"{name} must be a time such as 7-0, 12:00:00 or INFINITE, not {format_value(text)}"
        raise TraceError(path, None, message) from None

"""``holdfast slurm compare``: compare a replay on Slurm with the simulator."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.experiments.commands.options.arguments import check_outputs
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.parameters import Nodes, Parameter, Seconds
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from holdfast.experiments.slurm.queue_limits import QueueLimits
    from holdfast.experiments.slurm.recorded_replay import Replay
    from holdfast.experiments.slurm.submit_lines import JobRequest
    from holdfast.policies.slurm_backfill import SlurmBackfill
    from holdfast.workloads.machines.machine import Machine

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    replay: Annotated[
        tuple[str, ...],
        Parameter(
            "directory of 'holdfast slurm replay' or 'holdfast slurm snapshot', or a log with waits (sacct, SWF)",
            metavar="REPLAY",
            positional=True,
            repeated=True,
        ),
    ]
    nodes: Annotated[
        Nodes | None,
        Parameter("size of the machine", default="that of the log, or the most nodes held at once"),
    ] = None
    machine: Annotated[
        str | None,
        Parameter(
            "machine (TOML) for replays with the column tasks: decisions and starts on shared nodes, with GPUs and "
            "partitions",
            default="that of --config",
            metavar="FILE",
        ),
    ] = None
    backfilling: Annotated[
        tuple[str, ...],
        Parameter(
            "rule to compare with; may be repeated",
            default="that of --config; else none, easy with depth 1 and 4, conservative, slurm",
            repeated=True,
        ),
    ] = ()
    order: Annotated[
        str | None,
        Parameter(
            "order of the queue", default="that of --config, else fcfs", names_in="holdfast.policies.order:ORDERS"
        ),
    ] = None
    tolerance: Annotated[Seconds, Parameter("difference of two starts that counts as none")] = 60.0
    lag: Annotated[
        Seconds | None, Parameter("longest time that Slurm takes to decide", default="5s, and bf_interval of --config")
    ] = None
    completing: Annotated[
        Seconds, Parameter("longest time of a node to complete: decisions that much later are late, not wrong")
    ] = 0.0
    config: Annotated[
        str | None,
        Parameter(
            "slurm.conf, output of 'scontrol show config', or a directory of 'holdfast slurm snapshot', for the "
            "rule, the size and the lag",
            default="none",
            metavar="FILE",
        ),
    ] = None
    output: Annotated[
        str | None,
        Parameter(
            "write NAME.csv, NAME-decisions.csv, NAME.png and NAME.pdf",
            default="nothing written",
            metavar="NAME",
            short="-o",
        ),
    ] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.slurm.placed_replay import is_placed

    site = None if arguments.config is None else _site(arguments.config)
    setting = _setting(arguments, site)
    check_outputs(None if arguments.output is None else f"{arguments.output}.csv", arguments.output)
    if arguments.machine is not None or any(map(is_placed, arguments.replay)):
        _compare_machine_replays(arguments, site)
    else:
        _compare_pool_replays(arguments, setting)


@dataclass(frozen=True)
class _Setting:
    """What replays on a pool are compared with.

    Attributes
    ----------
    rules, order
        Backfilling rules, and the order of the queue.
    lag, interval
        Longest time that Slurm takes to decide, and from one pass of backfilling to the next [s].
    nodes
        Size of the machine; None: that of the log.
    """

    rules: list[str]
    order: str
    lag: float
    interval: float
    nodes: int | None


def _setting(arguments: Arguments, site: _Site | None) -> _Setting:
    """The setting that the options and the configuration give."""
    from holdfast.experiments.slurm.agreement import RULES
    from holdfast.policies.backfilling import BACKFILLING
    from holdfast.policies.order import ORDERS

    known = _Site("", "fcfs", 0.0, None) if site is None else site
    rules = list(dict.fromkeys(arguments.backfilling or (RULES if site is None else [known.rule])))
    order = arguments.order or known.order
    _ = ORDERS[order]
    for rule in rules:
        _ = BACKFILLING[rule]
    lag = arguments.lag if arguments.lag is not None else 5.0 + known.interval
    nodes = arguments.nodes if arguments.nodes is not None else known.nodes
    return _Setting(rules, order, lag, known.interval, nodes)


def _compare_pool_replays(arguments: Arguments, setting: _Setting) -> None:
    """Compare replays on a pool of equal nodes."""
    from holdfast.experiments.slurm.agreement import agreement, agreement_table, replay_summary
    from holdfast.experiments.slurm.recorded_replay import read_replay
    from holdfast.experiments.slurm.site_snapshot import expand_snapshots

    replays = [
        read_replay(path, setting.nodes, *_limits(place))
        for place in arguments.replay
        for path in expand_snapshots([place], "sacct.txt")
    ]
    if arguments.config is not None:
        options = " ".join(f"--backfilling {shlex.quote(rule)}" for rule in setting.rules)
        print(f"{arguments.config}: {options} --order {shlex.quote(setting.order)} --lag {setting.lag:g}s")
    rows, differences, starts = [], [], []
    for number, replay in enumerate(replays):
        some, wrong, simulated = agreement(
            replay,
            setting.rules,
            tolerance=arguments.tolerance,
            lag=setting.lag,
            completing=arguments.completing,
            order=setting.order,
            interval=setting.interval if setting.interval > 1 else 0.0,
        )
        rows += some
        differences += wrong
        starts.append(simulated)
        print(f"{'' if not number else chr(10)}{replay_summary(replay)}\n{agreement_table(some)}")
    if arguments.output is not None:
        _write_pool_comparison(arguments.output, replays, rows, differences, starts)


def _write_pool_comparison(
    output: str,
    replays: Sequence[Replay],
    rows: list[dict[str, Any]],
    differences: list[dict[str, Any]],
    starts: Sequence[Mapping[str, Mapping[int, float]]],
) -> None:
    """Write the tables, and draw the waits under the best rule."""
    from holdfast.experiments.figures.recording.agreement import plot_agreement
    from holdfast.experiments.figures.style import save
    from holdfast.experiments.slurm.agreement import AGREEMENT_COLUMNS, DECISION_COLUMNS, best_rule, wait_rows
    from holdfast.experiments.tables import write_csv

    best = best_rule(rows)
    figure = plot_agreement(rows, wait_rows(replays, starts, best), best)
    write_csv(f"{output}.csv", rows, AGREEMENT_COLUMNS)
    write_csv(f"{output}-decisions.csv", differences, DECISION_COLUMNS)
    png, pdf = save(figure, output)
    print(f"written to {output}.csv, {output}-decisions.csv, {png}, {pdf}")


def _compare_machine_replays(arguments: Arguments, site: _Site | None) -> None:
    """Compare replays on a machine with shared nodes."""
    from holdfast.experiments.slurm.agreement import AGREEMENT_COLUMNS, DECISION_COLUMNS, agreement_table
    from holdfast.experiments.slurm.machine_agreement import machine_agreement, paced_note, placed_summary
    from holdfast.experiments.slurm.placed_replay import read_placed_replay
    from holdfast.experiments.slurm.recorded_limits import with_recorded_limits
    from holdfast.experiments.tables import write_csv
    from holdfast.experiments.terminal import note

    machine = _machine(arguments)
    for option in ("nodes", "order"):
        if getattr(arguments, option) is not None:
            raise InputError(
                f"--{option} must be left out for a replay on a machine; jobs are in the order of their submits"
            )
    rules = _machine_rules(arguments.backfilling or ("slurm" if site is None else site.rule,))
    lag = arguments.lag if arguments.lag is not None else 5.0 if site is None else 5.0 + site.interval
    rows, differences = [], []
    for path in arguments.replay:
        replay = read_placed_replay(path)
        limited, remarks = with_recorded_limits(machine, path)
        for remark in remarks:
            note(f"note: {remark}")
        print(placed_summary(replay, limited))
        for name, rule in rules.items():
            row, wrong, _ = machine_agreement(
                *(replay, limited, name, rule),
                tolerance=arguments.tolerance,
                lag=lag,
                completing=arguments.completing,
            )
            rows.append(row)
            differences += wrong
            print(f"{agreement_table([row])}\non the nodes that Slurm chose: {count_text(row['same_nodes'], 'jobs')}")
            print(paced_note(row))
    if arguments.output is not None:
        write_csv(f"{arguments.output}.csv", rows, (*AGREEMENT_COLUMNS, "same_nodes", "paced_start"))
        write_csv(f"{arguments.output}-decisions.csv", differences, DECISION_COLUMNS)
        print(f"written to {arguments.output}.csv, {arguments.output}-decisions.csv")


def _machine(arguments: Arguments) -> Machine:
    """The machine that the options name; remarks are printed."""
    from holdfast.experiments.terminal import note
    from holdfast.workloads.machines.machine_file import read_machine
    from holdfast.workloads.machines.slurm_limits import LIMIT_TABLES
    from holdfast.workloads.machines.sources import machine_from_files

    if arguments.machine is not None:
        return read_machine(arguments.machine)
    if arguments.config is None:
        raise InputError(
            f"{arguments.replay[0]}: its nodes have resources; give the machine with --machine or --config"
        )
    found = machine_from_files(_configuration_files(arguments.config, *LIMIT_TABLES))
    for remark in found.remarks:
        note(f"note: {remark}")
    return found.machine


def _machine_rules(names: Iterable[str]) -> dict[str, SlurmBackfill]:
    """The rules of these names, by name; on a machine there is Slurm's alone."""
    from holdfast.policies.backfilling import BACKFILLING
    from holdfast.policies.slurm_backfill import SlurmBackfill

    rules = {}
    for name in names:
        rule = BACKFILLING[name]
        if not isinstance(rule, SlurmBackfill):
            raise ParameterError("backfilling", "slurm on a machine, with its parameters", name)
        rules[name] = rule
    return rules


def _limits(path: str) -> tuple[QueueLimits, Mapping[int, JobRequest]]:
    """Limits of a snapshot or a replay, and what the jobs asked for."""
    from holdfast.experiments.slurm.queue_limits import QueueLimits
    from holdfast.experiments.slurm.recorded_limits import read_limits
    from holdfast.experiments.slurm.site_snapshot import is_snapshot, read_snapshot
    from holdfast.experiments.slurm.submit_lines import read_requests, read_throttles
    from holdfast.experiments.terminal import note
    from holdfast.workloads.ground.files import read_text
    from holdfast.workloads.machines.slurm_limits import LIMIT_TABLES, enforces_limits, limits_from_tables

    submits = None
    if is_snapshot(path):
        snapshot = read_snapshot(path)
        submits, config = snapshot.find("submits.txt"), snapshot.find("config.txt")
        enforced = config is None or enforces_limits(read_text(config))
        tables = [snapshot.find(name) for name in LIMIT_TABLES] if enforced else []
        found = limits_from_tables({table: read_text(table) for table in tables if table is not None})
    else:
        found = read_limits(Path(path)) or limits_from_tables({})
    for remark in found.remarks:
        note(f"note: {remark}")
    throttles, requests = ({}, {}) if submits is None else (read_throttles(submits), read_requests(submits))
    return QueueLimits(throttles, found.limits), requests


@dataclass(frozen=True)
class _Site:
    """Rule, order, interval of backfilling [s] and size of a configuration; a size of None is not known."""

    rule: str
    order: str
    interval: float
    nodes: int | None


def _configuration_files(path: str, *further: str) -> list[str]:
    """The files of a configuration, and further ones of a snapshot."""
    from holdfast.experiments.slurm.site_snapshot import expand_snapshots

    return [str(file) for file in expand_snapshots([path], "config.txt", "nodes.txt", "partitions.txt", *further)]


def _site(path: str) -> _Site:
    """What a configuration says about decisions."""
    from holdfast.experiments.slurm.site_options import site_options
    from holdfast.workloads.machines.slurm_conf import read_configuration

    files = _configuration_files(path)
    options = site_options(*files).options
    words = re.findall(r"(?i)(?:^|,)\s*bf_interval=([^,]*)", read_configuration(files).value("schedulerparameters"))
    if words and not re.fullmatch(r"[0-9]{1,6}", words[-1].strip()):
        raise InputError(f"{path}: bf_interval must be a whole number of seconds, not {words[-1]}")
    # By default Slurm plans every 30 s; without backfilling each event is followed by a decision.
    interval = 0.0 if options["backfilling"] == "none" else float(words[-1]) if words else 30.0
    size = int(options["nodes"]) if "nodes" in options else None
    return _Site(options["backfilling"], options["order"], interval, size)

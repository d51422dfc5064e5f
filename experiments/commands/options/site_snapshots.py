"""A snapshot of a site as the source of a question: its queue, past, machine, usage and rules."""

from __future__ import annotations

import shlex
from dataclasses import replace

from holdfast.experiments.commands.options.cluster_state_options import PresentOptions, Question, RuleOptions
from holdfast.workloads.ground.errors import InputError

__all__ = ["site_question"]


def site_question(command: str, present: PresentOptions, rules: RuleOptions) -> Question:
    """The request of a command, with what the options leave open taken from a snapshot.

    Parameters
    ----------
    command
        The command, for warnings.
    present, rules
        Options; ``log`` or ``queue`` may be the directory of a snapshot.

    Raises
    ------
    InputError
        If a file of the snapshot is missing or cannot be read.
    """
    from holdfast.experiments.slurm.site_snapshot import is_snapshot, read_snapshot

    rules, fitted = _fitted_rules(rules)
    place = next((path for path in (present.queue, present.log) if path is not None and is_snapshot(path)), None)
    if place is None:
        return Question(command, present, _with_rules(rules, {}), fitted)
    snapshot = read_snapshot(place)
    queue = present.queue
    if queue == place or (queue is None and present.at is None):
        queue = snapshot.need("queue.json", "queue.txt")
    log = read_snapshot(present.log).need("sacct.txt") if is_snapshot(present.log) else present.log
    options, notes = _site_rules(place, rules)
    filled = _with_rules(rules, options)
    if filled.machine is None and (nodes := snapshot.find("nodes.txt")):
        from pathlib import Path

        filled = replace(filled, machine=Path(nodes))
    usage = present.usage
    if usage is None and queue is not None and "fairshare" in str(filled.order):
        usage = snapshot.find("sshare.txt")
    return Question(command, replace(present, log=log, queue=queue, usage=usage), filled, (*fitted, *notes))


def _fitted_rules(rules: RuleOptions) -> tuple[RuleOptions, tuple[str, ...]]:
    """Rules of a file of ``holdfast calibrate`` that ``--order`` names, and a sentence that states their error."""
    from holdfast.experiments.forecast.rule_file import is_rule_file, read_rule

    if rules.order is None or not is_rule_file(rules.order):
        return rules, ()
    if rules.backfilling is not None:
        raise InputError(f"--order {rules.order} gives the backfilling rule, too: leave out --backfilling")
    found = read_rule(rules.order)
    return replace(rules, order=found.order, backfilling=found.backfilling), (found.sentence(rules.order),)


def _with_rules(rules: RuleOptions, options: dict[str, str]) -> RuleOptions:
    """Rules in which the order and the backfilling rule are known."""
    return replace(
        rules,
        order=rules.order or options.get("order", "fcfs"),
        backfilling=rules.backfilling or options.get("backfilling", "easy"),
    )


def _site_rules(place: str, rules: RuleOptions) -> tuple[dict[str, str], tuple[str, ...]]:
    """Options of the site's configuration that are not given, and a sentence that tells them."""
    open_names = [name for name in ("order", "backfilling") if getattr(rules, name) is None]
    if not open_names:
        return {}, ()
    from holdfast.experiments.slurm.site_options import site_options
    from holdfast.experiments.slurm.site_priorities import with_account_shares
    from holdfast.experiments.slurm.site_snapshot import expand_snapshots, read_snapshot

    snapshot = read_snapshot(place)
    if snapshot.find("config.txt") is None:
        return {}, (f"{place} holds no configuration: {' and '.join(open_names)} are the defaults",)
    found = site_options(*expand_snapshots([place], "config.txt", "nodes.txt", "partitions.txt"))
    if sshare := snapshot.find("sshare.txt"):
        found = with_account_shares(found, sshare)
    words = " ".join(f"--{name} {shlex.quote(found.options[name])}" for name in open_names)
    missing = len(found.left_out) + len(found.unknown)
    rest = f"; 'holdfast slurm options' lists what is not modelled ({missing})" if missing else ""
    return found.options, (f"the configuration of {place} is taken: {words}{rest}",)

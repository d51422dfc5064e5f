"""Digests of all rules, which detect a rule that was changed after its results had been seen.

``rules.json`` has a digest of claim, printed value, source and rule for each statement of each experiment at its small
sizes. A test fails if a digest differs. After a change, :mod:`holdfast.experiments.study.report.rule_changes` writes
the record again: the entry of a changed rule keeps the former digest, and gets the date of the change and a fresh seed.
A changed rule is judged on new seeds, and its verdicts mention the change wherever they are shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from holdfast.experiments.study.verdicts import Verdict

__all__ = ["RULES", "SEED_STEP", "Entry", "differences", "digests", "mark_verdicts", "read_record", "renew_entries"]

#: File of the record.
RULES = Path(__file__).with_name("rules.json")
#: Distance between a fresh seed and used seeds, because repetitions use consecutive seeds.
SEED_STEP = 100_000

#: Entry of a statement: ``digest``, ``fixed`` (date) and ``seed`` of the rule; ``former``, the same for earlier rules,
#: oldest first; ``removed``, the date on which the statement was removed.
Entry = dict[str, Any]


def digests(verdicts: Iterable[Verdict]) -> dict[str, str]:
    """The digest of the rule of each statement, by claim.

    Examples
    --------
    >>> from holdfast.experiments.study.verdicts import HYPOTHESIS as SOURCE, Statement
    >>> weak, strict = (Statement("it falls", "", SOURCE).exact_verdict(True, f"holds if {x} < 0", "") for x in "xy")
    >>> digests([weak]) == digests([replace(weak, measured="-3")]), digests([weak]) == digests([strict])
    (True, False)
    """
    parts: dict[str, list[list[str]]] = {}
    for item in verdicts:
        parts.setdefault(item.claim, []).append([item.claim, item.printed, str(item.source), item.rule])
    return {claim: sha256(json.dumps(own).encode()).hexdigest()[:16] for claim, own in parts.items()}


@cache
def read_record(path: Path = RULES) -> Mapping[str, Mapping[str, Entry]]:
    """Entries of the record, by experiment and claim; empty without a record."""
    if not path.exists():
        return {}
    record: Mapping[str, Mapping[str, Entry]] = json.loads(path.read_text(encoding="utf-8"))
    return record


def differences(name: str, found: Mapping[str, str], record: Mapping[str, Mapping[str, Entry]]) -> list[str]:
    """Differences between the rules of an experiment and the record, one sentence each."""
    entries = {claim: entry for claim, entry in record.get(name, {}).items() if "removed" not in entry}
    changed = [claim for claim in found if claim in entries and entries[claim]["digest"] != found[claim]]
    return [
        *(f"{name}: the rule was changed: {claim}" for claim in changed),
        *(f"{name}: the statement is new: {claim}" for claim in found if claim not in entries),
        *(f"{name}: the statement is gone: {claim}" for claim in entries if claim not in found),
    ]


def renew_entries(entries: Mapping[str, Entry], found: Mapping[str, str], date: str) -> dict[str, Entry]:
    """Update the entries of an experiment to its present rules.

    Parameters
    ----------
    entries
        Entries of the record; empty: no results of the experiment have been seen, so that its rules get seed 0.
    found
        Digests of the present rules.
    date
        Date of the change.

    Returns
    -------
    dict
        The new entries. A statement that was changed or added after results had been seen has a fresh seed and its
        former rules.
    """
    fresh = SEED_STEP + max((entry["seed"] for entry in entries.values()), default=-SEED_STEP)
    renewed: dict[str, Entry] = {}
    for claim, gone in entries.items():
        if claim not in found:
            renewed[claim] = {"removed": date} | gone
    for claim, digest in found.items():
        entry = entries.get(claim, {})
        if "removed" not in entry and entry.get("digest") == digest:
            renewed[claim] = dict(entry)
            continue
        renewed[claim] = {"digest": digest, "fixed": date, "seed": fresh}
        if entries:
            before = [{key: entry[key] for key in ("digest", "fixed", "seed")}] if entry else []
            renewed[claim]["former"] = [*entry.get("former", ()), *before]
    return dict(sorted(renewed.items()))


def mark_verdicts(
    name: str,
    verdicts: Iterable[Verdict],
    seed: int,
    measured: bool = False,
    record: Mapping[str, Mapping[str, Entry]] | None = None,
) -> list[Verdict]:
    """Add remarks to verdicts with changed rules: the date of the change, and whether the seed is fresh.

    Parameters
    ----------
    name
        Id of the experiment.
    verdicts
        Verdicts of the experiment.
    seed
        Seed of the tables.
    measured
        Whether the tables use measured data, which do not depend on the seed.
    record
        Entries of the record; None: those of :data:`RULES`.
    """
    entries = (read_record() if record is None else record).get(name, {})
    return [_mark_verdict(item, entries.get(item.claim), seed, measured) for item in verdicts]


def _mark_verdict(verdict: Verdict, entry: Entry | None, seed: int, measured: bool) -> Verdict:
    if entry is None or "former" not in entry or verdict.by_construction:
        return verdict
    words = f"rule {'changed' if entry['former'] else 'added'} on {entry['fixed']}"
    if seed < entry["seed"]:
        change = f"{words} after results of this seed had been seen (to judge it on new seeds: --seed {entry['seed']})"
    else:
        change = f"{words}, judged on seed {seed}"
    if measured:
        change += ", with measured data that had been seen"
    return replace(verdict, remark="; ".join(part for part in (verdict.remark, change) if part))

"""Generator of the reference page of metrics: ``python -m holdfast.experiments.study.report.reference``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from operator import attrgetter
from pathlib import Path

from holdfast.experiments.study.metrics import BATCH, BEYOND, HYBRID, PROFILES, WEEK
from holdfast.simulator.results.catalogue import CATALOGUE
from holdfast.workloads.ground.columns import Metric
from holdfast.workloads.ground.files import atomic_open

__all__ = ["PAGE", "metrics_page"]

PAGE = Path("docs/reference/metrics.md")

_HEAD = """# Metrics

Every number that a summary, a sweep or an experiment reports: its column, the unit in the file, which way is better,
and its definition. Shares are stored as fractions of 1 and shown in %. [Model](../model.md#metrics) says how
a warm-up and a cool-down restrict them; [Bibliography](bibliography.md) expands [R], [S] and [P].
"""
#: Fewest words of definitions that share a row.
_FEWEST = 4
#: What the metrics of a row have in common.
_shared = attrgetter("unit", "scale", "percent", "better", "source")
#: Headings of the metrics that experiments compute themselves.
_EXPERIMENTS: Mapping[str, Mapping[str, Metric]] = {
    "the hybrid experiments": HYBRID,
    "the checkpoint experiments, jobs submitted at once": BATCH,
    "the week of the incomplete-data experiments": WEEK,
    "the plans of the profiles experiments": PROFILES,
    "the experiments beyond the papers": BEYOND,
}


def metrics_page() -> str:
    """The page, with a table for each source of metrics; a metric that a table above defines is only named."""
    sections = {f"In {group}": found.values() for group, found in CATALOGUE.items()}
    sections |= {f"In {name}": found.values() for name, found in _EXPERIMENTS.items()}
    parts, above = [_HEAD], set[tuple[str, str]]()
    for title, metrics in sections.items():
        parts.append(_section(title, list(metrics), above))
        above |= {(item.name, item.definition) for item in metrics}
    return "\n".join(parts)


def _section(title: str, metrics: Sequence[Metric], above: Set[tuple[str, str]]) -> str:
    new = [item for item in metrics if (item.name, item.definition) not in above]
    ((source, _),) = Counter(item.source for item in new).most_common(1)
    lines = [f"## {title}", "", f"Source, where no other is given: {source}.", ""]
    lines += ["| column | unit | better | definition |", "|---|---|---|---|"]
    for group in _groups(new):
        item = group[0]
        unit = "share" if item.percent and item.scale == 100 else item.unit or "-"
        other = "" if item.source == source else f" ({item.source})"
        names = ", ".join(f"`{each.name}`" for each in group)
        lines.append(f"| {names} | {unit} | {item.better} | {_definition(group)}{other} |")
    known = [f"`{item.name}`" for item in metrics if item not in new]
    return "\n".join([*lines, "", *([f"As above: {', '.join(known)}.", ""] if known else [])])


def _groups(metrics: Sequence[Metric]) -> list[list[Metric]]:
    """Metrics, those together whose definitions differ in one word: one row of the table has all of them."""
    groups = list[list[Metric]]()
    for item in metrics:
        for group in groups:
            if _shared(item) == _shared(group[0]) and _differ_in_one_word([*group, item]):
                group.append(item)
                break
        else:
            groups.append([item])
    return groups


def _differ_in_one_word(group: Sequence[Metric]) -> bool:
    """Whether the definitions of metrics, of at least ``_FEWEST`` words, differ in one of them."""
    words = [item.definition.split() for item in group]
    if len({len(each) for each in words}) > 1 or len(words[0]) < _FEWEST:
        return False
    return sum(len(set(each)) > 1 for each in zip(*words, strict=True)) == 1


def _definition(group: Sequence[Metric]) -> str:
    """Definition of the metrics of a row; the word that differs stands for each, in the order of the names.

    >>> group = [Metric("a", definition="Mean over rigid jobs."), Metric("b", definition="Mean over malleable jobs.")]
    >>> _definition(group)
    'Mean over rigid / malleable jobs'
    """
    words = [item.definition.removesuffix(".").split() for item in group]
    return " ".join(" / ".join(dict.fromkeys(each)) for each in zip(*words, strict=True))


if __name__ == "__main__":
    with atomic_open(PAGE) as file:
        file.write(metrics_page())

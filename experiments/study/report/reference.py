"""Generator of the metrics reference page from the catalogue: ``python -m experiments.study.report.reference``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from experiments.study.metrics import BATCH, BEYOND, HYBRID, PROFILES, WEEK
from simulator.results.catalogue import CATALOGUE
from workloads.ground.columns import Metric
from workloads.ground.files import atomic_open

__all__ = ["PAGE", "metrics_page"]

PAGE = Path("docs/reference/metrics.md")

_HEAD = """# Metrics

Every number that a summary, a sweep or an experiment reports: its column, the unit in the file, which way is better,
and its definition. Shares are stored as fractions of 1 and shown in %. A preemption counts when
its warning begins. [Model](../model.md#metrics) says how
a warm-up and a cool-down restrict them; [Bibliography](bibliography.md) expands [R], [S] and [P].
"""
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
    for item in new:
        unit = "share" if item.percent and item.scale == 100 else item.unit or "-"
        other = "" if item.source == source else f" ({item.source})"
        lines.append(f"| `{item.name}` | {unit} | {item.better} | {item.definition.removesuffix('.')}{other} |")
    known = [f"`{item.name}`" for item in metrics if item not in new]
    return "\n".join([*lines, "", *([f"As above: {', '.join(known)}.", ""] if known else [])])


if __name__ == "__main__":
    with atomic_open(PAGE) as file:
        file.write(metrics_page())

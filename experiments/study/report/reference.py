"""Generator of the metrics reference page from the catalogue: ``python -m experiments.study.report.reference``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from experiments.study.metrics import BATCH, BEYOND, HYBRID, PROFILES, WEEK
from simulator.results.catalogue import CATALOGUE
from workloads.ground.columns import Metric
from workloads.ground.files import atomic_open

__all__ = ["PAGE", "metrics_page"]

PAGE = Path("docs/reference/metrics.md")

_HEAD = """# Metrics

Every number that a summary, a sweep or an experiment reports: its column, the unit in the file, which way is better,
its definition and its source. Shares are stored as fractions of 1 and shown in %. [Model](../model.md#metrics) says how
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
    """The page, with a table for each source of metrics."""
    sections = {f"In {group}": found.values() for group, found in CATALOGUE.items()}
    sections |= {f"In {name}": found.values() for name, found in _EXPERIMENTS.items()}
    return "\n".join([_HEAD, *(_section(title, metrics) for title, metrics in sections.items())])


def _section(title: str, metrics: Iterable[Metric]) -> str:
    lines = [f"## {title}", "", "| column | unit | better | definition | source |", "|---|---|---|---|---|"]
    for item in metrics:
        unit = "share" if item.percent and item.scale == 100 else item.unit or "-"
        lines.append(f"| `{item.name}` | {unit} | {item.better} | {item.definition} | {item.source} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    with atomic_open(PAGE) as file:
        file.write(metrics_page())

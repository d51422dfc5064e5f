"""The interactive Gantt page: one self-contained HTML file that needs neither a network nor other files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.experiments.figures.style import STATE_COLORS, TYPE_COLORS
from holdfast.experiments.gantt.columns import page_columns
from holdfast.experiments.output.csp import with_policy
from holdfast.experiments.output.page_templates import page_templates
from holdfast.experiments.recordings.allocations import Allocations
from holdfast.experiments.recordings.pool_replays import PoolReplays
from holdfast.experiments.recordings.time_windows import Window
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.ground.release import VERSION
from holdfast.workloads.ground.wording import count_text

__all__ = ["write_gantt"]

#: Characters that could end a script element or begin a comment, and those that end a line in JavaScript but not in
#: JSON.
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def write_gantt(
    path: str | Path,
    recording: Recording,
    window: Window | None = None,
    words: str = "holdfast gantt",
    *,
    allocations: Allocations | None = None,
    pools: PoolReplays | None = None,
) -> int:
    """Write the page: the same HTML for the same arguments.

    Parameters
    ----------
    path
        HTML file.
    recording
        A recording with its event log, or with allocations.
    window
        Time to show; default: everything.
    words
        Command line that wrote the page.
    allocations
        Nodes of the jobs on a machine with partitions; None: the machine is one pool.
    pools
        Partitions that were simulated as pools, with their event logs; None: there are none.

    Returns
    -------
    int
        Number of jobs shown.

    Raises
    ------
    InputError
        If the event log was switched off, or nothing runs in the window.
    OutputError
        If the file cannot be written.
    """
    columns = page_columns(recording, window, allocations, pools)
    html = _render(columns, words, recording.zone, pooled=pools is not None)
    with atomic_open(path) as file:
        file.write(html)
    return len(columns["jobs"]["id"])


def _render(columns: Mapping[str, Any], words: str, zone: str, *, pooled: bool) -> str:
    from markupsafe import Markup

    # Styles and scripts are our own; data from a job table is escaped or JSON.
    html = (
        page_templates("holdfast.experiments.gantt")
        .get_template("gantt.html")
        .render(
            title=f"Jobs on {columns['unit']} under {columns['mechanism']}",
            about=_about(columns, zone),
            example=_example(columns["jobs"]),
            data=Markup(_json(columns)),
            type_colors=Markup(_json({str(kind): color for kind, color in TYPE_COLORS.items()})),
            state_colors=Markup(_json(STATE_COLORS)),
            words=words,
            unit=columns["unit"],
            version=VERSION,
            named="hosts" in columns,
            pooled=pooled,
        )
    )
    return with_policy(html, scripts=1)


def _json(value: Any) -> str:
    """Encode as JSON that is safe inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return re.sub("[<>&\u2028\u2029]", lambda found: _UNSAFE[found[0]], text)


def _about(columns: Mapping[str, Any], zone: str) -> str:
    """Describe the page in one line."""
    number = len(columns["jobs"]["id"])
    summary = f"{count_text(number, 'jobs')} on {count_text(columns['nodes'], columns['unit'])}, "
    first, last = columns["base"], columns["base"] + columns["length"]
    if columns["dates"]:
        days = [datetime.fromtimestamp(second, UTC) for second in (first, last - 1)]
        texts = dict.fromkeys(f"{day.day} {day:%B %Y}" for day in days)
        return summary + " to ".join(texts) + f" (times are {zone})"
    return summary + f"{columns['length'] / 86400:.1f} days"


def _example(jobs: Mapping[str, Any]) -> str:
    """Placeholder of the search field."""
    words = [str(jobs["id"][0])]
    words += [f"{kind}:{jobs[f'{kind}s'][-1]}" for kind in ("project", "user") if jobs[f"{kind}s"][-1]]
    return ", ".join([*words, "type:rigid"])

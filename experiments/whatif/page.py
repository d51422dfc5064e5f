"""The answer as one HTML page for a meeting: a self-contained file, readable on a telephone, printed on two pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.experiments.output.csp import with_policy
from holdfast.experiments.output.page_templates import page_templates
from holdfast.experiments.output.small_pictures import Scale, interval_picture, use_picture
from holdfast.experiments.whatif.contrasts import Contrast
from holdfast.experiments.whatif.wording import WaitUnit, number_text
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.ground.release import VERSION
from holdfast.workloads.ground.wording import in_unit

if TYPE_CHECKING:
    from holdfast.experiments.whatif.answer import WhatIf

__all__ = ["render_page", "write_page"]

#: Number of groups of a grouping in the table of the calibration, and of those that gain or lose most.
_CALIBRATED, _NAMED = 3, 2
_WORDS = {"user": "user", "project": "project", "partition": "partition", "qos": "QOS", "size": "size",
          "hour": "hour of submission"}  # fmt: skip


def write_page(answer: WhatIf, path: str | Path, command: str = "") -> None:
    """Write :func:`render_page`.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with atomic_open(path) as file:
        file.write(render_page(answer, command))


def render_page(answer: WhatIf, command: str = "") -> str:
    """The page: the same HTML for the same answer and command.

    Parameters
    ----------
    answer
        The answer.
    command
        Command that makes the page again; empty: none is shown.
    """
    html = page_templates("holdfast.experiments.whatif").get_template("whatif.html").render(
        answer=answer,
        title=Path(answer.log).name,
        conclusion=in_unit(answer.conclusion, answer.unit),
        rows=list(_rows(answer)),
        use=list(_use(answer)),
        calibration=list(_calibration(answer)),
        winners=[(one.operation.name, list(_winners(one, answer.time_unit))) for one in answer.contrasts],
        draws=[one for one in answer.contrasts if one.draws],
        command=command,
        version=VERSION,
        unit=answer.unit,
        time=answer.time_unit,
        number=number_text,
    )  # fmt: skip
    return with_policy(html, scripts=1)


def _rows(answer: WhatIf) -> Iterator[dict[str, Any]]:
    """The rows of the first table, with pictures of the differences."""
    ends = [
        value
        for row in answer.rows
        for value in (row.get("wait_difference_h"), row.get("low"), row.get("high"))
        if value is not None
    ]
    scale = Scale.of(ends)
    for row in answer.rows:
        difference = row.get("wait_difference_h")
        picture = "" if difference is None else interval_picture(scale, difference, row["low"], row["high"])
        yield {**row, "name": in_unit(row["run"], answer.unit), "picture": picture}


def _use(answer: WhatIf) -> Iterator[tuple[str, str, float]]:
    """Name, picture and mean of the utilisation of each schedule, where it is known."""
    outcomes = [] if answer.calibration is None else [("as recorded", answer.calibration.recorded.use)]
    outcomes.append((answer.today.name, answer.replay.use))
    outcomes += [(one.operation.name, one.use) for one in answer.contrasts]
    means = [row["utilization_to_last_submit"] for row in answer.rows]
    for (name, use), mean in zip(outcomes, means, strict=True):
        if mean == mean:
            yield in_unit(name, answer.unit), use_picture(use), 100 * mean


def _calibration(answer: WhatIf) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rows of the replay beside the recorded schedule: all jobs, and the largest groups of each grouping."""
    if answer.calibration is None:
        return
    yield "", answer.calibration.error
    for by, rows in answer.calibration.groups.items():
        largest = sorted(rows, key=lambda row: -row["jobs"])[:_CALIBRATED]
        for row in largest:
            yield _WORDS[by], row


def _winners(contrast: Contrast, unit: WaitUnit) -> Iterator[dict[str, Any]]:
    """What each grouping says of an alternative: how many groups gain and lose, and which do most."""
    for by, rows in contrast.groups.items():
        groups = rows[1:]
        yield {
            "by": _WORDS[by],
            "groups": len(groups),
            "gain": sum(row["verdict"] == "gains" for row in groups),
            "lose": sum(row["verdict"] == "loses" for row in groups),
            "most": _most(groups, "gains", unit),
            "worst": _most(groups, "loses", unit),
        }


def _most(groups: Sequence[Mapping[str, Any]], verdict: str, unit: WaitUnit) -> str:
    """The groups with this verdict and the largest total difference."""
    own = sorted(
        (row for row in groups if row["verdict"] == verdict), key=lambda row: -abs(row["difference"]) * row["jobs"]
    )
    return ", ".join(f"{row['group']} {unit.text(row['difference'], '+')} {unit.name}" for row in own[:_NAMED])

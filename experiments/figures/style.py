"""The common style of all figures: colours, sizes and axes, and saving to files."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from holdfast.experiments.figures.canvas import is_narrow, width_inches
from holdfast.experiments.figures.layout import lay_out, without_warnings_of_names
from holdfast.policies.mechanism import BASELINE
from holdfast.workloads.ground.errors import UnknownNameError
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.ground.wording import in_unit
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

__all__ = [
    "FONT",
    "FORMATS",
    "INK",
    "STATE_COLORS",
    "TYPE_COLORS",
    "dress",
    "legend_above",
    "mechanism_color",
    "mechanism_label",
    "mechanism_marker",
    "name_mechanisms",
    "panel_letters",
    "relabel",
    "save",
]

#: Font sizes [pt]: readable when the figure is printed at its own width.
FONT = {"title": 8.5, "label": 8.0, "tick": 7.0, "legend": 7.0, "note": 6.5}

#: Text and lines that stand for no category.
INK = "#333333"
_GRID = "#DDDDDD"

# Hues after Okabe and Ito, "Color Universal Design" (2008), distinguishable with any common colour vision; members of
# a group that stand side by side also differ in lightness, so that they differ in a greyscale print.
TYPE_COLORS = {
    JobType.RIGID: "#0A62A0",
    JobType.MALLEABLE: "#56C2A0",
    JobType.ON_DEMAND: "#E06C10",
    JobType.STOCHASTIC: "#F0C8DF",
}

#: Where node-hours go, in the order of :class:`holdfast.simulator.results.result.Accounting`.
STATE_COLORS = {
    "compute": "#0A62A0",
    "setup": "#7FC4EE",
    "checkpoint": "#009E73",
    "lost": "#5B1F00",
    "warning": "#F0B429",
    "held": "#B0609A",
    "idle": "#E4E4E4",
    "down": "#7F7F7F",
}

# The hue and the marker are the notice strategy, the shade the arrival strategy: PAA light, SPAA dark.
_MECHANISM_COLORS = {
    BASELINE: "#1F1F1F",
    "N-PAA": "#F6CB72",
    "N-SPAA": "#BC7311",
    "CUA-PAA": "#7DBCE8",
    "CUA-SPAA": "#0A62A0",
    "CUP-PAA": "#3FAF8C",
    "CUP-SPAA": "#004D3B",
}
_NOTICE_MARKERS = {BASELINE: "D", "N": "o", "CUA": "s", "CUP": "^"}
#: For other labels: mechanisms of plug-ins, orders, options; each with a marker.
_SPARE_COLORS = ("#CC79A7", "#6B1F52", "#56B4E9", "#8A6B00", "#332288", "#F0C14B")
_SPARE_MARKERS = ("v", "P", "X", "<", ">", "h")

#: Entries of the metadata of a file, by format, that name versions or the time, and are left out.
_METADATA = {"png": ("Software",), "pdf": ("CreationDate", "Producer", "Creator"), "svg": ("Date", "Creator")}
#: Formats of files.
FORMATS = tuple(_METADATA)
#: Widths in a legend: of a key with the gaps beside it, and of a character of a name [in].
_KEY, _CHARACTER = 0.35, 0.055
# PDF files read a global setting when they are written.
_writing = threading.Lock()


def mechanism_color(name: str, spare: int = 0) -> str:
    """The colour of a mechanism; of any other label the ``spare``-th of some others."""
    return _MECHANISM_COLORS.get(name, _SPARE_COLORS[spare % len(_SPARE_COLORS)])


def mechanism_marker(name: str, spare: int = 0) -> str:
    """The marker of a mechanism's notice strategy; of any other label the ``spare``-th of some others."""
    if name in _MECHANISM_COLORS:
        return _NOTICE_MARKERS[name.partition("-")[0]]
    return _SPARE_MARKERS[spare % len(_SPARE_MARKERS)]


def mechanism_label(name: str, most: int = 20) -> str:
    """A label beside an axis: a long one, as that of a plug-in, is broken into lines.

    >>> mechanism_label("CUA-SPAA"), mechanism_label("CUA-my.long_module:Mine weight=2")
    ('CUA-SPAA', 'CUA-my.long_module:\\nMine weight=2')
    """
    if len(name) <= most:
        return name
    lines = [""]
    for part in re.findall(r"[^: ]+[: ]?", name):
        if lines[-1] and len(lines[-1] + part.rstrip()) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def name_mechanisms(axes: Axes, names: Sequence[str]) -> None:
    """Label the rows of a panel with mechanisms; where one needs two lines, they are close and small."""
    labels = [mechanism_label(name) for name in names]
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(axis="y", length=0)
    for text in axes.get_yticklabels():
        if "\n" in text.get_text():
            text.set(fontsize=FONT["note"], linespacing=0.9)


def relabel(figure: Figure, unit: str) -> Figure:
    """Write processors for nodes in all texts of a figure, if these are its unit; returns the figure."""
    if unit != "nodes":
        from matplotlib.text import Text

        for text in figure.findobj(Text):
            assert isinstance(text, Text)
            text.set_text(in_unit(text.get_text(), unit))
    return figure


def dress(
    axes: Axes, *, x: str = "", y: str = "", title: str = "", grid: Literal["both", "x", "y", "none"] = "both"
) -> None:
    """Give axes their labels (with units), fonts, frame and grid.

    Sizes are set on each artist, not by ``rcParams``: those are shared between threads.
    """
    axes.set_xlabel(x, fontsize=FONT["label"], color=INK, labelpad=2)
    axes.set_ylabel(y, fontsize=FONT["label"], color=INK, labelpad=3)
    if title:
        axes.set_title(title, fontsize=FONT["title"], color=INK, pad=4, loc="left")
    axes.tick_params(
        which="both", labelsize=FONT["tick"], color="#888888", labelcolor=INK, length=2.5, width=0.6, pad=2
    )
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#888888")
        spine.set_linewidth(0.6)
    axes.set_axisbelow(True)
    if grid != "none":
        axes.grid(True, axis=grid, color=_GRID, linewidth=0.5)


def panel_letters(panels: Sequence[Axes]) -> None:
    """Put (a), (b), ... before the titles."""
    for number, axes in enumerate(panels):
        axes.set_title(f"({chr(ord('a') + number)}) {axes.get_title(loc='left')}", fontsize=FONT["title"], loc="left")


def legend_above(
    figure: Figure, handles: Sequence[Any], labels: Sequence[str], columns: int | None = None, title: str = ""
) -> Legend:
    """A legend over all panels, where it can cover no data, with as many columns as fit."""
    most = max(1, int(width_inches(figure) / (_KEY + _CHARACTER * max(map(len, labels), default=1))))
    wanted = columns or len(labels)
    while wanted > 1 and not is_narrow(figure) and _legend_width(labels, wanted) > width_inches(figure):
        wanted -= 1
    return figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=min(wanted, most) if is_narrow(figure) else wanted,
        fontsize=FONT["legend"],
        frameon=False,
        labelcolor=INK,
        handlelength=1.3,
        handleheight=0.8,
        columnspacing=1.4,
        borderaxespad=0.0,
        title=title or None,
        title_fontsize=FONT["legend"],
    )


def _legend_width(labels: Sequence[str], columns: int) -> float:
    """Width that a legend needs [in]; its entries fill one column after the other."""
    rows, longer = divmod(len(labels), columns)
    ends = [rows * column + min(column, longer) for column in range(columns + 1)]
    longest = [max(map(len, labels[first:end]), default=0) for first, end in pairwise(ends)]
    return sum(_KEY + _CHARACTER * length for length in longest)


def save(
    figure: Figure, path: str | Path, *, dpi: int = 150, follow: bool = True, formats: Sequence[str] = ("png", "pdf")
) -> tuple[Path, ...]:
    """Write a figure, by default as PNG and PDF; equal figures make equal bytes, whenever and by whatever version.

    Parameters
    ----------
    figure
        What to write.
    path
        Where to, without suffix.
    dpi
        Resolution of the PNG file.
    follow
        Whether files that are links stay links, as in :func:`holdfast.workloads.ground.files.atomic_open`.
    formats
        Some of :data:`FORMATS`.

    Returns
    -------
    tuple of Path
        The files, in the order of the formats.

    Raises
    ------
    UnknownNameError
        If there is no such format.
    OutputError
        If a file cannot be written.
    """
    import matplotlib as mpl

    for name in formats:
        if name not in FORMATS:
            raise UnknownNameError("format", name, FORMATS)
    paths = tuple(Path(f"{path}.{name}") for name in formats)
    with _writing, without_warnings_of_names():
        # Letters are wider at some resolutions than at others: room is made at the one that is rendered.
        figure.set_dpi(max(figure.dpi, dpi))
        lay_out(figure)
        for name, file_path in zip(formats, paths, strict=True):
            nothing: dict[str, Any] = dict.fromkeys(_METADATA[name])
            # Journals refuse matplotlib's default, Type 3 fonts. Names in SVG files are random without a salt.
            settings = mpl.rc_context({"pdf.fonttype": 42, "svg.hashsalt": "holdfast"})
            # On a full disk matplotlib would end a PDF file with an error of its own, which hides the reason.
            content = BytesIO()
            with settings:
                figure.savefig(content, format=name, dpi=dpi if name == "png" else "figure", metadata=nothing)
            with atomic_open(file_path, "wb", follow=follow) as file:
                file.write(content.getvalue())
    return paths

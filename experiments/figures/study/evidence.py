"""Figure of the evidence for claims: effect sizes with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.canvas import PAGE, is_narrow, new_figure
from holdfast.experiments.figures.style import FONT, INK, dress, legend_above
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["OUTCOMES", "plot_findings", "shorten_claim"]

Rows = Sequence[Mapping[str, Any]]

#: Colours of Okabe and Ito, and a sign for colour-blind readers.
OUTCOMES = {
    "holds": ("#0072B2", "+"),
    "undecided": ("#D9D9D9", "0"),
    "does not hold": ("#D55E00", "\N{MINUS SIGN}"),
    "not comparable": ("white", ""),
}
#: Effects beyond are drawn as arrows [standard deviations].
_FAR = 8.0
_LINE = 0.135


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['observation']}{row['part'] or ''}"


def _number(row: Mapping[str, Any]) -> str:
    if row["effect"] is None:
        return ""
    if row["unit"] == "node-hours":
        return f"{row['effect'] / 1000:+.1f} kNh"
    return f"{row['effect']:{'' if row['level'] else '+'}.2f} {row['unit']}"


def plot_findings(rows: Rows) -> Figure:
    """Each claim with its effect in standard deviations over the traces; to the right is as the paper says.

    Parameters
    ----------
    rows
        Rows of :func:`holdfast.experiments.papers.hybrid.claim_evidence.finding_row`.

    Raises
    ------
    InputError
        If there are none.
    """
    if not rows:
        raise InputError("there are no findings to draw")
    figure = new_figure(PAGE, 0.9 + _LINE * len(rows))
    narrow = is_narrow(figure)  # no room for the claims in words: only their names are shown
    left, axes = figure.subplots(1, 2, sharey=True, width_ratios=(0.2 if narrow else 2.35, 1))
    for place, row in enumerate(rows):
        color = OUTCOMES[row["outcome"]][0] if row["outcome"] != "undecided" else "#8C8C8C"
        if row["size"] is not None:
            low, high = max(-_FAR, row["size_low"]), min(_FAR, row["size_high"])
            middle = min(_FAR, max(-_FAR, row["size"]))
            if low < high:
                axes.plot([low, high], [place, place], color=color, linewidth=1.1, solid_capstyle="butt")
            marker = ">" if row["size"] > _FAR else "<" if row["size"] < -_FAR else "o"
            axes.plot([middle], [place], marker, color=color, markersize=3.2)
        elif row["outcome"] != "not comparable":
            # A claim of equality has no direction.
            axes.plot([0], [place], "D", color=color, markersize=3.2)
        axes.annotate(
            _number(row), (1.0, place), xycoords=("axes fraction", "data"), xytext=(2, 0), textcoords="offset points",
            va="center", fontsize=FONT["note"] - 1, color=INK,
        )  # fmt: skip
    _claims(left, rows, words=not narrow)
    axes.axvline(0, color=INK, linewidth=0.7)
    axes.set_xlim(-_FAR * 1.03, _FAR * 1.03)
    dress(axes, x="Effect in the claim's direction\n(standard deviations over the traces)", grid="x")
    axes.tick_params(axis="y", length=0, labelleft=False)
    axes.spines["left"].set_visible(False)
    _bands(axes, rows)
    # Room for the numbers behind the axes.
    axes.annotate("-0000.0 node-h", (1.0, 0), xycoords=("axes fraction", "data"), alpha=0, fontsize=FONT["note"])
    handles, labels = _legend({str(row["outcome"]) for row in rows})
    legend_above(figure, handles, labels)
    return figure


def _claims(axes: Axes, rows: Rows, *, words: bool) -> None:
    """The names of the claims, one a line, and the claims in words."""
    axes.set_xlim(0, 1)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.axis("off")
    for place, row in enumerate(rows):
        size = FONT["note"] - 1
        axes.text(0.0, place, _name(row), va="center", fontsize=size, color=INK, fontweight="bold")
        if words:
            axes.text(0.055, place, shorten_claim(str(row["claim"])), va="center", fontsize=size, color=INK)


def shorten_claim(text: str, most: int = 106) -> str:
    """A claim of at most ``most`` characters; a longer one ends in an ellipsis."""
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + " \N{HORIZONTAL ELLIPSIS}"


def _bands(axes: Axes, rows: Rows) -> None:
    """Every second observation on a light ground."""
    shaded, before = False, None
    for place, row in enumerate(rows):
        shaded = shaded if row["observation"] == before else not shaded
        before = row["observation"]
        if shaded:
            axes.axhspan(place - 0.5, place + 0.5, color="#F4F4F4", linewidth=0, zorder=-2)


def _legend(shown: set[str]) -> tuple[list[Any], list[str]]:
    from matplotlib.patches import Patch

    shown_colors = {name: color for name, (color, _) in OUTCOMES.items() if name in shown}
    return [Patch(facecolor=color, edgecolor="#888888", linewidth=0.4) for color in shown_colors.values()], [
        *shown_colors
    ]

"""Reader and writer of cost files (``holdfast fit-costs``), and the text that describes a fit in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.experiments.tables import render
from holdfast.experiments.terminal import warn
from holdfast.workloads.ground.checksums import UNSEALED, is_sealed
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.documents import parse_json
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.files import decode_text, read_bytes
from holdfast.workloads.ground.units import walltime_text
from holdfast.workloads.ground.wording import sizes_in_words, span_of_sizes

if TYPE_CHECKING:
    from holdfast.policies.planning.waits.model import WaitFit, WaitModel

__all__ = ["Prices", "fits_table", "read_costs"]

_COLUMNS = (
    Quantity("nodes"),
    Quantity("pairs"),
    Quantity("alpha", digits=3),
    Quantity("alpha_error", "+/-", digits=3),
    Quantity("gamma", "gamma", "h", scale=1 / 3600, digits=2),
    Quantity("gamma_error", "+/-", "h", scale=1 / 3600, digits=2),
    Quantity("r_squared", "pairs", "", "R^2", digits=3),
    Quantity("r_squared_means", "means", "", "R^2", digits=3),
    Quantity("spread", "spread", "h", scale=1 / 3600, digits=2),
    Quantity("note", " "),
)


#: A reservation that is needed less often adds little to the expected cost.
_SELDOM = 0.01


def read_costs(path: str | Path, command: str = "") -> WaitModel:
    """The wait model in a file that ``holdfast fit-costs`` has written.

    Parameters
    ----------
    path
        The file.
    command
        Command that warns of a file without a digest; empty: no warning.

    Raises
    ------
    InputError
        If it cannot be read, is not JSON, was changed, or is not a valid cost file; the message names the file and the
        key.
    """
    from holdfast.policies.planning.waits.document import from_document

    raw = read_bytes(path)
    document = parse_json(decode_text(raw, path), path)
    try:
        sealed = is_sealed(raw, document)
        model = from_document(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if command and not sealed:
        warn(command, f"{path} {UNSEALED}")
    return model


def fits_table(model: WaitModel) -> str:
    """Table of the fits of a model: all sizes, then each class."""
    rows = [_row("all", model.all, "")]
    rows += [
        _row(span_of_sizes(each.nodes_from, each.nodes_to), each.fit, "too few: as all" if each.fallback else "")
        for each in model.classes
    ]
    return render(rows, _COLUMNS)


def _row(nodes: str, fit: WaitFit, note: str) -> dict[str, Any]:
    free = fit.unconstrained
    # The fit stopped at a bound that the unbounded coefficient exceeds.
    bound = [] if free is None else [name for name, error in _errors(fit) if error is None]
    unbound = "" if free is None else f"unbound {free.slope:.3f}, {free.intercept / 3600:.2f} h"
    note = (
        f"{' and '.join(bound)} at {'their bounds' if len(bound) > 1 else 'its bound'} ({unbound})" if bound else note
    )
    names = ("pairs", "alpha", "alpha_error", "gamma", "gamma_error", "r_squared", "r_squared_means", "spread")
    return {"nodes": nodes, **{name: getattr(fit, name) for name in names}, "note": note}


def _errors(fit: WaitFit) -> tuple[tuple[str, float | None], ...]:
    return ("alpha", fit.alpha_error), ("gamma", fit.gamma_error)


@dataclass(frozen=True)
class Prices:
    """Costs of the jobs of a size, from a file.

    Attributes
    ----------
    path
        The file, for messages.
    model
        The wait model in the file.
    nodes
        Size of the job; None: all sizes.
    """

    path: str
    model: WaitModel
    nodes: int | None

    def describe(self) -> str:
        """Text that describes the costs and their meaning."""
        found = None if self.nodes is None else self.model.class_for(self.nodes)
        jobs = "all sizes" if found is None else f"jobs of {sizes_in_words(found.nodes_from, found.nodes_to)}"
        if found is not None and found.fallback:
            jobs += " (too few: as of all sizes)"
        alpha, beta, gamma = self.model.costs_for(self.nodes)
        meaning = "; cost is response time" if beta == 1 else ""
        return f"costs: alpha {alpha:.4g}, beta {beta:g}, gamma {gamma:,.0f} s for {jobs}, from {self.path}{meaning}"

    def doubt(self, reservations: Sequence[Mapping[str, Any]]) -> str:
        """Warning about a plan that requests more than any request of the fit; else empty.

        Parameters
        ----------
        reservations
            Reservations as in the JSON document of a plan. Those that hardly any job needs are ignored.
        """
        longest = max(row["length"] for row in reservations if row["probability"] >= _SELDOM)
        most = self.model.fit_for(self.nodes).walltime_to
        if most is None or longest <= most:
            return ""
        own, fitted = walltime_text(longest), walltime_text(most)
        return f"waits beyond {fitted}, the longest request of the fit, are extrapolated: up to {own}"

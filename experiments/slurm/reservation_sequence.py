"""Sequence: a plan, the program it is for, and the options for submitting its reservations."""

from __future__ import annotations

import json
from collections.abc import Sequence as Words
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.experiments.slurm.job_chain import Link
from holdfast.workloads.ground.errors import InputError, ParameterError

if TYPE_CHECKING:
    from holdfast.policies.planning.plan import ReservationPlan

__all__ = ["Sequence", "check_options"]

#: Options of sbatch that the chain sets itself, and what to use instead.
_OWN = {
    **dict.fromkeys(("--time", "-t", "--time-min"), "the plan chooses the limits"),
    **dict.fromkeys(("--nodes", "-N"), "give it as --nodes of this command"),
    **dict.fromkeys(("--job-name", "-J"), "give it as --name"),
    **dict.fromkeys(
        (
            *("--dependency", "-d", "--kill-on-invalid-dep", "--signal", "--requeue", "--no-requeue", "--hold", "-H"),
            *("--array", "-a", "--parsable", "--wrap", "--test-only", "--wait", "-W", "--chdir", "-D"),
            *("--output", "-o", "--error", "-e", "--open-mode", "--begin", "-b"),
        ),
        "the chain needs its own",
    ),
}


@dataclass(frozen=True)
class Sequence:
    """A sequence to submit.

    Attributes
    ----------
    name
        Name of its jobs.
    program
        The program and its arguments.
    folder
        Working directory of the program.
    nodes
        Nodes of each reservation.
    options
        Further options of sbatch.
    history
        File to which a finished run adds its runtime [s]; empty: none.
    retries
        Number of failures of the program after which the sequence ends.
    links
        The reservations.
    plan
        The plan, as :meth:`holdfast.policies.planning.plan.ReservationPlan.to_dict` has it; times in seconds.
    expected_cost
        Expected cost of the plan; None: not in its file.
    """

    name: str
    program: Words[str]
    folder: str
    nodes: int
    options: Words[str]
    history: str
    retries: int
    links: Words[Link]
    plan: dict[str, Any]
    expected_cost: float | None

    @property
    def reservations(self) -> ReservationPlan:
        """The plan."""
        from holdfast.policies.planning.plan import ReservationPlan

        return ReservationPlan.from_json(json.dumps(self.plan))


def check_options(options: Words[str]) -> None:
    """Refuse options of sbatch that would break the chain.

    Raises
    ------
    ParameterError
        If a text is not an option, or the chain sets the option itself.
    """
    for option in options:
        if not option.startswith("-") or option.strip("-") == "":
            raise ParameterError("--sbatch", "an option of sbatch in one word, as --sbatch=--partition=long", option)
        name = option.partition("=")[0]
        known = name if option.startswith("--") else option[:2]
        same = [
            own for own in _OWN if own == known or (known.startswith("--") and len(known) > 4 and own.startswith(known))
        ]
        if same:
            raise InputError(f"--sbatch must not hold {name}: {_OWN[same[0]]}")

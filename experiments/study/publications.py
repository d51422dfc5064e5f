"""The papers in the order of their pages, with links to the documentation of choices where a paper is ambiguous."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["PUBLICATIONS", "Publication", "paper_key"]


@dataclass(frozen=True)
class Publication:
    """A paper, or the group of experiments beyond the papers.

    Attributes
    ----------
    key
        Prefix of the ids of its experiments.
    title, source
        Title, and authors with venue.
    about
        One or two sentences on the questions of the experiments.
    choices
        Sections of the documentation on choices where the paper is silent: (page, heading).
    printed
        Whether it is a paper with printed values; otherwise statements are hypotheses.
    main
        Ids of the experiments on the main results, the most important first.
    """

    key: str
    title: str
    source: str
    about: str
    choices: tuple[tuple[str, str], ...] = ()
    printed: bool = True
    main: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        """Heading of the column of statements."""
        return "Statement" if self.printed else "Hypothesis"

    @property
    def silent(self) -> str:
        """Heading of the choices of an experiment."""
        return "Where the paper is silent" if self.printed else "Choices"


#: Explanation of abbreviations, for the pages that use them.
_TERMS = (
    "At the notice of an on-demand job a mechanism does nothing (N), collects nodes until its arrival (CUA) or until "
    "its predicted arrival (CUP); at the arrival it preempts (PAA), or shrinks malleable jobs before it preempts "
    "(SPAA). W1 to W5 are notice mixes: most jobs without notice, accurate, early, late, or all alike."
)
_MODEL = (
    ("model.md", "The model, and the choices it makes"),
    ("model.md", "Readings that are not parameters"),
)
_STOCHASTIC = (("model.md", "Stochastic jobs"),)
_PLANNER = (("planner.md", "Continuous distributions"), ("planner.md", "Beyond the last milestone"))

#: Publications by key, in the order of the pages.
PUBLICATIONS: Mapping[str, Publication] = {
    item.key: item
    for item in (
        Publication(
            "hybrid",
            "Hybrid Workload Scheduling on HPC Systems",
            "Y. Fan, Z. Lan, P. Rich, W. Allcock, M. E. Papka, IPDPS 2022",
            "Rigid, malleable and on-demand jobs on one machine: six mechanisms against first come, first served (FCFS)"
            f" with EASY backfilling. {_TERMS}",
            _MODEL,
            main=("hybrid-obs", "hybrid-fig6", "hybrid-table2", "hybrid-readings", "hybrid-fig7"),
        ),
        Publication(
            "checkpoint",
            "Reservation and Checkpointing Strategies for Stochastic Jobs",
            "A. Gainaru, B. Goglin, V. Honoré, G. Pallez, P. Raghavan, Y. Robert, H. Sun, IPDPS 2020",
            "Which reservations to ask for, and which to end with a checkpoint, for a runtime known as a distribution.",
            (*_PLANNER, *_STOCHASTIC),
            main=("checkpoint-fig8", "checkpoint-table4", "checkpoint-fig5", "checkpoint-claims", "checkpoint-table2"),
        ),
        Publication(
            "incomplete",
            "Making Speculative Scheduling Robust to Incomplete Data",
            "A. Gainaru, G. Pallez, ScalA 2019",
            "What a plan loses when it is made from a few past runs.",
            (*_PLANNER, *_STOCHASTIC),
            main=("incomplete-fig6", "incomplete-fig4", "incomplete-fig8", "incomplete-fig5", "incomplete-fig7"),
        ),
        Publication(
            "profiles",
            "Profiles of upcoming HPC Applications and their Impact on Reservation Strategies",
            "A. Gainaru, B. Goglin, V. Honoré, G. Pallez, Inria RR-9359",
            "An application as a chain of tasks with durations and memory, and reservations that use it.",
            (("chains.md", "Choices"), ("chains.md", "What happens at run time")),
            main=("profiles-fig13", "profiles-fig12", "profiles-fig14", "profiles-fig16", "profiles-fig18"),
        ),
        Publication(
            "beyond",
            "Beyond the papers",
            "experiments of our own",
            "Questions that the papers do not ask. Each statement is a hypothesis, written before the measurement. "
            f"{_TERMS}",
            printed=False,
            main=("beyond-front", "beyond-theta", "beyond-sensitivity", "beyond-stochastic", "beyond-orders"),
        ),
    )
}


def paper_key(experiment: str) -> str:
    """The key of an experiment's paper.

    >>> paper_key("checkpoint-fig6")
    'checkpoint'
    """
    return experiment.partition("-")[0]

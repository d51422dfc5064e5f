"""``holdfast plan``: from a law of the runtime, or past runs, to the reservations to ask for."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.arguments import duration, number, whole
from experiments.planning import LAWS, OPTIONS

if TYPE_CHECKING:
    import numpy as np

    from policies.planning.costs import CostModel
    from workloads.laws.law import Law

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    # A duration such as -1h is a wrong value, not an unknown option: the message should be about the value.
    parser._negative_number_matcher = re.compile(r"^-\.?\d.*$")
    parser.add_argument("law", metavar="LAW", nargs="?", help=", ".join(LAWS))
    parser.add_argument("--runs", metavar="FILE", help="runtimes of past runs, one a line, instead of a law")
    parser.add_argument("--column", metavar="NAME", help="FILE is CSV, and the runtimes are in this column")
    parser.add_argument("--fit", metavar="HOW", help="discrete, usual, polynomial, auto (default auto)")
    group = parser.add_argument_group("the law")
    for name in OPTIONS:
        group.add_argument(f"--{name}", metavar="TIME" if OPTIONS[name].duration else "X")
    group.add_argument("--unit", metavar="U", default="s", help="of exp(mu), and of bare numbers in FILE (default s)")
    group = parser.add_argument_group("the costs")
    group.add_argument("--checkpoint", metavar="TIME", default="0", help="time to write a checkpoint (default 0)")
    group.add_argument("--restart", metavar="TIME", default="0", help="time to read it again (default 0)")
    group.add_argument("--alpha", metavar="X", default="1", help="cost of a second asked for (default 1)")
    group.add_argument("--beta", metavar="X", default="0", help="cost of a second used (default 0)")
    group.add_argument("--gamma", metavar="TIME", default="0", help="cost of each reservation, as a time (default 0)")
    group = parser.add_argument_group("the plan")
    group.add_argument("--strategy", metavar="NAME", default="optimal", help="default optimal")
    group.add_argument("--grid", metavar="NAME", help="equal-time, equal-probability or cubic")
    group.add_argument("--n", metavar="N", help="cells of the grid")
    group.add_argument("--epsilon", metavar="E", help="N by Algorithm 1, for a plan within 1 + E of the best")
    group.add_argument("--compare", action="store_true", help="show the other strategies beside it")
    group.add_argument("--json", metavar="FILE", help="write the plan; - is standard output, and nothing else there")
    group.add_argument("--plot", metavar="FILE", help="draw it: FILE.png and FILE.pdf")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.planreport import comparison_row, comparison_table, document, outcome, plan_table, write_json
    from policies.planning.making import Planning
    from policies.planning.strategies import STRATEGIES
    from workloads.errors import InputError

    _check_words(arguments)
    _check_files(arguments)
    costs = _costs_of(arguments)
    STRATEGIES[arguments.strategy]  # an unknown one is refused before anything is computed
    grid = _grid_of(arguments)
    law, runs, origin, fits = _law(arguments, costs, grid)
    planning = Planning(law, costs, runs, grid)
    if not (arguments.compare or planning.cuts(arguments.strategy)):
        raise InputError(f"the strategy {arguments.strategy} has no use for --{next(iter(grid))}")
    plan = planning.plan(arguments.strategy)
    told = document(plan, law)
    if not math.isfinite(told["expected_cost"]):
        raise InputError("the expected cost of this plan is too large for a number: the costs must be smaller")
    compared = [comparison_row(other, law, runs) for other in planning.compare(plan)] if arguments.compare else []
    if arguments.plot:
        # Drawn before anything is written, so that a failure leaves nothing behind.
        from experiments.figures.plans import plot_plan
        from experiments.figures.style import save

        figure = plot_plan(told, law, f"{arguments.strategy} plan for {origin}", runs)
    if arguments.json:
        write_json(arguments.json, told)
    drawn = save(figure, arguments.plot) if arguments.plot else ()
    if arguments.json == "-":
        return
    print(f"runtime: {origin}")
    if fits:
        print(f"{fits}\n")
    print(outcome(told, float(plan.expected_reservations(law))))
    print(f"\n{plan_table(told)}")
    if compared:
        print(f"\n{comparison_table(compared, past=runs is not None)}")
    for path in drawn:
        print(f"drawn in {path}")


def _check_words(arguments: argparse.Namespace) -> None:
    """Refuse words that do not go together."""
    from workloads.errors import InputError

    if (arguments.law is None) == (arguments.runs is None):
        raise InputError(f"give either a law ({', '.join(LAWS)}) or --runs FILE")
    if arguments.runs is not None:
        strange = next((name for name in OPTIONS if getattr(arguments, name) is not None), None)
        if strange is not None:
            raise InputError(f"--{strange} describes a law, but --runs FILE is given")
    else:
        strange = next((name for name in ("column", "fit") if getattr(arguments, name) is not None), None)
        if strange is not None:
            raise InputError(f"--{strange} is about past runs: give them with --runs FILE")
    if arguments.n is not None and arguments.epsilon is not None:
        raise InputError("give either --n or --epsilon")


def _check_files(arguments: argparse.Namespace) -> None:
    """Refuse what cannot be written before anything is."""
    from workloads.errors import OutputError

    for path in (arguments.json, arguments.plot):
        if path is not None and path != "-" and not Path(path).absolute().parent.is_dir():
            raise OutputError(f"{path}: cannot be written: {Path(path).parent} is not a directory")
    pictures = [f"{arguments.plot}.{kind}" for kind in ("png", "pdf")] if arguments.plot else []
    for path in (arguments.json, *pictures):
        if path is not None and Path(path).is_dir():
            raise OutputError(f"{path}: cannot be written: is a directory")


def _costs_of(arguments: argparse.Namespace) -> CostModel:
    from policies.planning.costs import CostModel
    from workloads.errors import ParameterError

    def share(text: str, option: str) -> float:
        value = 0.0 if text.strip() in ("0", "0.0") else number(text, option)
        if value > 1e100:
            raise ParameterError(option, "a number that costs can be multiplied with, at most 1e100", text)
        return value

    alpha, beta = share(arguments.alpha, "--alpha"), share(arguments.beta, "--beta")
    if alpha == 0:
        raise ParameterError("--alpha", "a positive number", arguments.alpha)
    return CostModel(
        alpha=alpha,
        beta=beta,
        gamma=duration(arguments.gamma, "--gamma"),
        checkpoint=duration(arguments.checkpoint, "--checkpoint"),
        restart=duration(arguments.restart, "--restart"),
    )


def _law(
    arguments: argparse.Namespace, costs: CostModel, grid: dict[str, Any]
) -> tuple[Law, np.ndarray | None, str, str]:
    """The law of the runtime, the past runs if it comes from them, what to say of it, and a table of the fits."""
    from experiments.planning import law_of, read_runs, unit_of
    from experiments.planreport import fit_table
    from policies.planning.making import fit_of

    unit = unit_of(arguments.unit)
    if arguments.runs is None:
        given = {name: getattr(arguments, name) for name in OPTIONS if getattr(arguments, name) is not None}
        law = law_of(arguments.law, given, unit)
        return law, None, " ".join([arguments.law, *(f"--{name} {text}" for name, text in given.items())]), ""
    how = arguments.fit or "auto"
    runs = read_runs(arguments.runs, arguments.column, unit)
    report = fit_of(runs, how, costs, arguments.strategy, grid)
    origin = f"{len(runs):,} past runs of {Path(arguments.runs).name}, fitted by the law {report.chosen.name}"
    return report.chosen.good(), runs, origin, fit_table(report.rows())


def _grid_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """How finely the law is cut."""
    chosen: dict[str, Any] = {}
    if arguments.grid is not None:
        chosen["grid"] = arguments.grid
    if arguments.n is not None:
        chosen["n"] = whole(arguments.n, "--n", 1)
    if arguments.epsilon is not None:
        chosen["epsilon"] = number(arguments.epsilon, "--epsilon")
    return chosen

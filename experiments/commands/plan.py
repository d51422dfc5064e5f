"""``holdfast plan``: plan reservations from the distribution of a runtime, or from past runs."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.commands.asking.arguments import check_outputs, duration, number, whole
from experiments.planning.laws import LAWS, OPTIONS
from workloads.ground.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

    from experiments.planning.costfile import Prices
    from policies.planning.costs import CostModel
    from workloads.laws.law import Law

__all__ = ["add_arguments", "main"]


class _Price(NamedTuple):
    """An option for a price."""

    text: str
    metavar: str
    purpose: str


#: What a reservation costs unless the user says otherwise: the time that is asked for.
_PRICES = {
    "alpha": _Price("1", "NUMBER", "cost of a reserved second"),
    "beta": _Price("0", "NUMBER", "cost of a used second"),
    "gamma": _Price("0", "TIME", "cost of a reservation, as a time [s]"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    # A duration such as -1h is a wrong value, not an unknown option: the message should be about the value.
    parser._negative_number_matcher = re.compile(r"^-\.?\d.*$")
    parser.add_argument(
        "law", metavar="DISTRIBUTION", nargs="?", help=f"distribution of the runtime: {', '.join(LAWS)}"
    )
    parser.add_argument(
        "--runs", metavar="FILE", help="past runtimes, one per line, instead of DISTRIBUTION (default: none)"
    )
    parser.add_argument("--column", metavar="NAME", help="column of the runtimes, FILE being CSV (default: none)")
    kinds = "discrete, usual, usual-least-squares, polynomial, interpolated, kernel"
    parser.add_argument(
        "--fit", metavar="NAME", help=f"distribution fitted to past runs: {kinds} or auto (default auto)"
    )
    group = parser.add_argument_group("the distribution")
    for name in OPTIONS:
        group.add_argument(
            f"--{name}", metavar="TIME" if OPTIONS[name].duration else "NUMBER", help=OPTIONS[name].about
        )
    group.add_argument(
        "--unit", metavar="UNIT", default="s", help="unit of exp(mu), and of bare numbers in FILE (default s)"
    )
    group = parser.add_argument_group("the costs")
    group.add_argument("--checkpoint", metavar="TIME", help="time to write a checkpoint [s] (default: no checkpoints)")
    group.add_argument("--restart", metavar="TIME", help="time to read a checkpoint [s] (default 0)")
    for name, default in _PRICES.items():
        group.add_argument(f"--{name}", metavar=default.metavar, help=f"{default.purpose} (default {default.text})")
    group.add_argument(
        "--costs", metavar="FILE", help="read alpha, beta and gamma from a file of 'holdfast fit-costs' (default: none)"
    )
    group.add_argument(
        "--nodes",
        metavar="N",
        help="size of the job [nodes], to choose its costs from FILE (default: costs of all sizes)",
    )
    group = parser.add_argument_group("the plan")
    group.add_argument(
        "--strategy",
        metavar="NAME",
        default="optimal",
        help="planning strategy (default optimal, which is no-ckpt without --checkpoint)",
    )
    group.add_argument(
        "--grid",
        metavar="NAME",
        help="grid of the runtimes: equal-time, equal-probability or cubic (default: the strategy's)",
    )
    group.add_argument("--n", metavar="N", help="number of cells of the grid (default: the strategy's)")
    group.add_argument(
        "--epsilon",
        metavar="NUMBER",
        help="choose the number of cells for a plan within 1 + NUMBER of the best, by Algorithm 1 (default: not used)",
    )
    group.add_argument("--compare", action="store_true", help="print the other strategies, too")
    group.add_argument(
        "--json",
        metavar="FILE",
        help="write the plan as JSON; '-' is standard output, and then nothing else is printed (default: not written)",
    )
    group.add_argument("--plot", metavar="FILE", help="draw the plan as FILE.png and FILE.pdf (default: not drawn)")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.planning.document import (
        comparison_row,
        comparison_table,
        document,
        outcome,
        plan_table,
        write_sealed,
    )
    from policies.planning.making import Planning, check_unsaved, parse_strategy, unsaved
    from policies.planning.strategies import STRATEGIES
    from workloads.ground.errors import InputError

    _check_words(arguments)
    check_outputs(arguments.json, arguments.plot)
    costs, prices = _costs_of(arguments)
    # An unknown one is refused before anything is computed.
    name, *words = arguments.strategy.split() or [""]
    STRATEGIES[name]
    strategy, parameters = parse_strategy(arguments.strategy) if words else (name, {})
    saving = arguments.checkpoint is not None
    strategy = strategy if saving else unsaved(strategy)
    title = " ".join([name if saving else unsaved(name), *words])
    grid = _grid_of(arguments)
    law, runs, origin, fits = _law(arguments, costs, strategy, grid)
    planning = Planning(law, costs, runs, grid)
    if not (arguments.compare or planning.cuts(strategy)):
        raise InputError(f"the strategy {arguments.strategy} does not use --{next(iter(grid))}")
    plan = planning.plan(strategy, **parameters)
    if not saving:
        check_unsaved(plan, "--checkpoint TIME")
    told = document(plan, law)
    if not math.isfinite(told["expected_cost"]):
        raise InputError("the expected cost of this plan is too large for a number; use smaller costs")
    if not told["omniscient_cost"] > 0:
        raise InputError("the expected cost of a known runtime is too small for a number; use larger runtimes or costs")
    others = planning.compare(plan, checkpoints=saving) if arguments.compare else []
    compared = [comparison_row(other, law, runs) for other in others]
    if arguments.plot:
        # Drawn before anything is written, so that a failure leaves nothing behind.
        from experiments.figures.planning.plans import plot_plan
        from experiments.figures.style import save

        figure = plot_plan(told, law, f"{title} plan for {origin}", runs)
    if arguments.json:
        write_sealed(arguments.json, told)
    drawn = save(figure, arguments.plot) if arguments.plot else ()
    if arguments.json == "-":
        return
    print(f"runtime: {origin}")
    if fits:
        print(f"{fits}\n")
    if prices is not None:
        print(prices.told())
    print(outcome(told, float(plan.expected_reservations(law))))
    if plan.growth is not None:
        print(plan.growth.told())
    print(f"\n{plan_table(told)}")
    doubt = prices.doubt(told["reservations"]) if prices is not None else ""
    if doubt:
        print(doubt)
    if compared:
        print(f"\n{comparison_table(compared, past=runs is not None)}")
    for path in drawn:
        print(f"drawn in {path}")


def _check_words(arguments: argparse.Namespace) -> None:
    """Refuse words that do not go together."""
    from workloads.ground.errors import InputError

    if (arguments.law is None) == (arguments.runs is None):
        raise InputError(f"give either a distribution ({', '.join(LAWS)}) or --runs FILE")
    if arguments.runs is not None:
        strange = next((name for name in OPTIONS if getattr(arguments, name) is not None), None)
        if strange is not None:
            raise InputError(f"--{strange} describes a distribution, but --runs FILE is given")
    else:
        strange = next((name for name in ("column", "fit") if getattr(arguments, name) is not None), None)
        if strange is not None:
            raise InputError(f"--{strange} is for past runs; give them with --runs FILE")
    if arguments.n is not None and arguments.epsilon is not None:
        raise InputError("give either --n or --epsilon")
    if arguments.restart is not None and arguments.checkpoint is None:
        raise InputError("--restart reads a checkpoint; give the time to write one with --checkpoint TIME")
    if arguments.costs is not None:
        strange = next((name for name in _PRICES if getattr(arguments, name) is not None), None)
        if strange is not None:
            raise InputError(f"--costs FILE contains --{strange}; give only one of them")
    elif arguments.nodes is not None:
        raise InputError("--nodes chooses the costs of a size; give their file with --costs")


def _costs_of(arguments: argparse.Namespace) -> tuple[CostModel, Prices | None]:
    """The costs, and the file that their prices come from."""
    from policies.planning.costs import CostModel

    costs = CostModel(
        checkpoint=duration(arguments.checkpoint or "0", "--checkpoint"),
        restart=duration(arguments.restart or "0", "--restart"),
    )
    if arguments.costs is not None:
        from experiments.planning.costfile import Prices, read_costs

        nodes = None if arguments.nodes is None else whole(arguments.nodes, "--nodes", 1)
        prices = Prices(arguments.costs, read_costs(arguments.costs, arguments.command), nodes)
        return prices.model.apply(costs, nodes), prices
    given = {
        name: price.text if getattr(arguments, name) is None else getattr(arguments, name)
        for name, price in _PRICES.items()
    }
    alpha, beta = _share(given["alpha"], "--alpha"), _share(given["beta"], "--beta")
    if alpha == 0:
        raise ParameterError("--alpha", "a positive number", given["alpha"])
    return replace(costs, alpha=alpha, beta=beta, gamma=duration(given["gamma"], "--gamma")), None


def _share(text: str, option: str) -> float:
    value = 0.0 if text.strip() in ("0", "0.0") else number(text, option)
    if value > 1e100:
        raise ParameterError(option, "a number of at most 1e100", text)
    return value


def _law(
    arguments: argparse.Namespace, costs: CostModel, strategy: str, grid: dict[str, Any]
) -> tuple[Law, np.ndarray | None, str, str]:
    """Distribution of the runtime, the past runs if it comes from them, its description, and a table of the fits."""
    from experiments.planning.document import fit_table
    from experiments.planning.laws import law_of, read_runs, unit_of
    from policies.planning.making import fit_of

    unit = unit_of(arguments.unit)
    if arguments.runs is None:
        given = {name: getattr(arguments, name) for name in OPTIONS if getattr(arguments, name) is not None}
        law = law_of(arguments.law, given, unit)
        return law, None, " ".join([arguments.law, *(f"--{name} {text}" for name, text in given.items())]), ""
    how = arguments.fit or "auto"
    runs = read_runs(arguments.runs, arguments.column, unit)
    report = fit_of(runs, how, costs, strategy, grid)
    origin = f"{len(runs):,} past runs of {Path(arguments.runs).name}, fitted by {report.chosen.name}"
    return report.chosen.good(), runs, origin, fit_table(report.rows())


def _grid_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Options of the grid."""
    chosen: dict[str, Any] = {}
    if arguments.grid is not None:
        chosen["grid"] = arguments.grid
    if arguments.n is not None:
        chosen["n"] = whole(arguments.n, "--n", 1)
    if arguments.epsilon is not None:
        chosen["epsilon"] = number(arguments.epsilon, "--epsilon")
    return chosen

"""``holdfast plan``: plan reservations from the distribution of a runtime, or from past runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.experiments.commands.options.arguments import check_outputs, json_file
from holdfast.experiments.planning.plan_inputs import DISTRIBUTIONS, DistributionOptions
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.parameters import (
    Group,
    Parameter,
    Positive,
    Seconds,
    Values,
    changed_parameters,
    number,
    wholes,
)
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    import numpy as np

    from holdfast.experiments.planning.cost_file import Prices
    from holdfast.policies.planning.costs import CostModel
    from holdfast.workloads.distributions.distribution import Distribution

__all__ = ["Arguments", "main"]


_COSTS = "the costs"
_PLAN = "the plan"


def _price(text: str) -> float:
    value = 0.0 if text.strip() in ("0", "0.0") else number(text)
    if value > 1e100:
        raise ParameterError("", "a number of at most 1e100", text)
    return value


def _positive_price(text: str) -> float:
    value = _price(text)
    if value == 0:
        raise ParameterError("", "a positive number", text)
    return value


@dataclass(eq=False, repr=False)
class PriceOptions:
    """What a reservation costs: by default the time that is asked for."""

    alpha: Annotated[
        float | None,
        Values("NUMBER", _positive_price),
        Parameter("cost of a reserved second", default="=1", group=_COSTS),
    ] = None
    beta: Annotated[
        float | None, Values("NUMBER", _price), Parameter("cost of a used second", default="=0", group=_COSTS)
    ] = None
    gamma: Annotated[Seconds | None, Parameter("cost of a reservation, as a time", default="=0", group=_COSTS)] = None

    @property
    def given(self) -> dict[str, float]:
        """Those that are given."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    distribution: Annotated[
        str | None,
        Parameter(f"distribution of the runtime: {', '.join(DISTRIBUTIONS)}", metavar="DISTRIBUTION", positional=True),
    ] = None
    runs: Annotated[
        str | None,
        Parameter("past runtimes, one per line, instead of DISTRIBUTION", default="none", metavar="FILE"),
    ] = None
    column: Annotated[str | None, Parameter("column of the runtimes, FILE being a table", default="none")] = None
    fit: Annotated[
        str | None,
        Parameter(
            "distribution fitted to past runs: discrete, usual, usual-least-squares, polynomial, interpolated, kernel "
            "or auto",
            default="=auto",
        ),
    ] = None
    of: Annotated[DistributionOptions, Group("the distribution")]
    unit: Annotated[
        str,
        Parameter(
            "unit of exp(mu), and of bare numbers in FILE; in options they are seconds",
            metavar="UNIT",
            group="the distribution",
        ),
    ] = "s"
    checkpoint: Annotated[
        Seconds | None, Parameter("time to write a checkpoint", default="no checkpoints", group=_COSTS)
    ] = None
    restart: Annotated[Seconds | None, Parameter("time to read a checkpoint", default="=0", group=_COSTS)] = None
    prices: PriceOptions
    costs: Annotated[
        str | None,
        Parameter(
            "read alpha, beta and gamma from a file of 'holdfast fit-costs'",
            default="none",
            metavar="FILE",
            group=_COSTS,
        ),
    ] = None
    nodes: Annotated[
        int | None,
        wholes(1),
        Parameter("size of the job [nodes], to choose its costs from FILE", default="costs of all sizes", group=_COSTS),
    ] = None
    strategy: Annotated[
        str,
        Parameter("planning strategy", default=", which is no-ckpt without --checkpoint", group=_PLAN),
    ] = "optimal"
    grid: Annotated[
        str | None,
        Parameter(
            "grid of the runtimes: equal-time, equal-probability or cubic", default="the strategy's", group=_PLAN
        ),
    ] = None
    n: Annotated[
        int | None, wholes(1), Parameter("number of cells of the grid", default="the strategy's", group=_PLAN)
    ] = None
    epsilon: Annotated[
        Positive | None,
        Parameter(
            "choose the number of cells for a plan within 1 + NUMBER of the best, by Algorithm 1",
            default="not used",
            group=_PLAN,
        ),
    ] = None
    compare: Annotated[bool, Parameter("print the other strategies, too", group=_PLAN)] = False
    json: Annotated[str | None, json_file(_PLAN)] = None
    plot: Annotated[
        str | None,
        Parameter("draw the plan as FILE.png and FILE.pdf", default="not drawn", metavar="FILE", group=_PLAN),
    ] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.output.json_files import write_sealed_json
    from holdfast.experiments.planning.plan_document import (
        comparison_row,
        comparison_table,
        document,
        outcome,
        plan_table,
        request_sentence,
    )
    from holdfast.policies.planning.planner import Planning, refuse_checkpoints
    from holdfast.workloads.ground.errors import InputError

    _check_words(arguments)
    check_outputs(arguments.json, arguments.plot)
    costs, prices = _read_costs(arguments)
    saving = arguments.checkpoint is not None
    strategy, parameters, title = _strategy(arguments.strategy, saving=saving)
    grid = _grid_options(arguments)
    distribution, runs, origin, fits = _distribution(arguments, costs, strategy, grid)
    planning = Planning(distribution, costs, runs, grid)
    if not (arguments.compare or planning.cuts(strategy)):
        raise InputError(f"the strategy {arguments.strategy} does not use --{next(iter(grid))}")
    plan = planning.plan(strategy, **parameters)
    if not saving:
        refuse_checkpoints(plan, "--checkpoint TIME")
    entry = document(plan, distribution)
    if not math.isfinite(entry["expected_cost"]):
        raise InputError("the expected cost of this plan is too large for a number; use smaller costs")
    if not entry["omniscient_cost"] > 0:
        raise InputError("the expected cost of a known runtime is too small for a number; use larger runtimes or costs")
    others = planning.compare(plan, checkpoints=saving) if arguments.compare else []
    compared = [comparison_row(other, distribution, runs) for other in others]
    if arguments.plot:
        # Drawn before anything is written, so that a failure leaves nothing behind.
        from holdfast.experiments.figures.planning.plans import plot_plan
        from holdfast.experiments.figures.style import save

        figure = plot_plan(entry, distribution, f"{title} plan for {origin}", runs)
    if arguments.json:
        write_sealed_json(arguments.json, entry)
    drawn = save(figure, arguments.plot) if arguments.plot else ()
    if arguments.json == "-":
        return
    sentences = (
        request_sentence(entry),
        f"runtime: {origin}",
        f"{fits}\n" if fits else "",
        prices.describe() if prices is not None else "",
        outcome(entry, float(plan.expected_reservations(distribution))),
        plan.growth.describe() if plan.growth is not None else "",
        f"\n{plan_table(entry)}",
        prices.doubt(entry["reservations"]) if prices is not None else "",
        f"\n{comparison_table(compared, past=runs is not None)}" if compared else "",
        *(f"drawn in {path}" for path in drawn),
    )
    print(*filter(None, sentences), sep="\n")


def _check_words(arguments: Arguments) -> None:
    """Refuse words that do not go together."""
    from holdfast.workloads.ground.errors import InputError
    from holdfast.workloads.ground.files import is_plain_file

    if (arguments.distribution is None) == (arguments.runs is None):
        raise InputError(f"give either a distribution ({', '.join(DISTRIBUTIONS)}) or --runs FILE")
    name = arguments.distribution
    if name is not None and name not in DISTRIBUTIONS and is_plain_file(Path(name)):
        raise InputError(f"{name} is a file; past runs are given with --runs {name}")
    if arguments.runs is not None:
        strange = next(iter(arguments.of.given), None)
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
        twice = next(changed_parameters(arguments.prices), None)
        if twice is not None:
            raise InputError(f"--costs FILE contains {twice.option}; give only one of them")
    elif arguments.nodes is not None:
        raise InputError("--nodes chooses the costs of a size; give their file with --costs")


def _strategy(text: str, *, saving: bool) -> tuple[str, dict[str, Any], str]:
    """Name of the strategy without checkpoints unless they are saved, its parameters, and its words for a title."""
    from holdfast.policies.planning.planner import parse_strategy, strategy_without_checkpoints
    from holdfast.policies.planning.strategies import STRATEGIES

    name, *words = text.split() or [""]
    # An unknown one is refused before anything is computed.
    STRATEGIES[name]
    strategy, parameters = parse_strategy(text) if words else (name, {})
    if saving:
        return strategy, parameters, " ".join([name, *words])
    return strategy_without_checkpoints(strategy), parameters, " ".join([strategy_without_checkpoints(name), *words])


def _read_costs(arguments: Arguments) -> tuple[CostModel, Prices | None]:
    """The costs, and the file that their prices come from."""
    from holdfast.policies.planning.costs import CostModel

    costs = CostModel(
        checkpoint=arguments.checkpoint or 0.0,
        restart=arguments.restart or 0.0,
    )
    if arguments.costs is not None:
        from holdfast.experiments.planning.cost_file import Prices, read_costs

        prices = Prices(arguments.costs, read_costs(arguments.costs, "plan"), arguments.nodes)
        return prices.model.apply(costs, arguments.nodes), prices
    return replace(costs, **arguments.prices.given), None


def _distribution(
    arguments: Arguments, costs: CostModel, strategy: str, grid: dict[str, Any]
) -> tuple[Distribution, np.ndarray | None, str, str]:
    """Distribution of the runtime, the past runs if it comes from them, its description, and a table of the fits."""
    from holdfast.experiments.planning.plan_document import fit_table
    from holdfast.experiments.planning.plan_inputs import make_distribution, parse_unit, read_runs
    from holdfast.policies.planning.planner import fit_runs
    from holdfast.workloads.ground.units import walltime_text

    unit = parse_unit(arguments.unit)
    if arguments.runs is None:
        name, given = arguments.distribution or "", arguments.of.given
        distribution = make_distribution(name, given, unit)
        return distribution, None, " ".join([name, *(f"--{option} {text}" for option, text in given.items())]), ""
    how = arguments.fit or "auto"
    runs = read_runs(arguments.runs, arguments.column, unit)
    report = fit_runs(runs, how, costs, strategy, grid)
    # The range shows runtimes that were read in a wrong unit.
    reach = f"{walltime_text(runs.min())} to {walltime_text(runs.max())}"
    origin = (
        f"{count_text(len(runs), 'past runs')} of {Path(arguments.runs).name}, {reach}, fitted by {report.chosen.name}"
    )
    return report.chosen.good(), runs, origin, fit_table(report.rows())


def _grid_options(arguments: Arguments) -> dict[str, Any]:
    """Options of the grid."""
    chosen: dict[str, Any] = {}
    if arguments.grid is not None:
        chosen["grid"] = arguments.grid
    if arguments.n is not None:
        chosen["n"] = arguments.n
    if arguments.epsilon is not None:
        chosen["epsilon"] = arguments.epsilon
    return chosen

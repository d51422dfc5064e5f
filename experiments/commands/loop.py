"""``holdfast loop``: alternate planning, simulation and fitting of wait costs until the plans are stable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from holdfast.experiments.commands.options.arguments import Classes
from holdfast.experiments.commands.options.simulation_options import Simulation, SimulationOptions, prepare_simulation
from holdfast.experiments.output.signals import Interrupted
from holdfast.experiments.terminal import warn
from holdfast.workloads.ground.parameters import Group, Parameter, Share, wholes
from holdfast.workloads.ground.release import VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.experiments.planning.closed_loop import Loop

__all__ = ["Arguments", "main"]


_LOOP = "the loop"


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    output: Annotated[
        str | None, Parameter("directory of the results", default="nothing is stored", metavar="DIR", short="-o")
    ] = None
    force: Annotated[bool, Parameter("replace the results of an earlier run or loop in DIR")] = False
    mechanism: Annotated[str, Parameter("mechanism, one")] = "baseline"
    simulation: SimulationOptions
    rounds: Annotated[int, wholes(1), Parameter("largest number of simulations", group=_LOOP)] = 8
    tolerance: Annotated[
        Share, Parameter("stop when no plan costs more than this share above the best", group=_LOOP)
    ] = 0.01
    classes: Annotated[Classes, Group(_LOOP)] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.output.directory_checks import check_fresh
    from holdfast.experiments.output.output_directory import output_directory
    from holdfast.experiments.paper_readings import find_reading
    from holdfast.experiments.planning.closed_loop import check_strategies
    from holdfast.experiments.recordings.replay import parse_mechanisms
    from holdfast.experiments.recordings.run_file import RUN
    from holdfast.workloads.ground.errors import InputError, ParameterError

    reading = find_reading(arguments.simulation.paper.reading or "default")
    mechanisms = [reading.mechanism(name) for name in parse_mechanisms(arguments.mechanism)]
    if len(mechanisms) != 1:
        raise ParameterError("--mechanism", "one mechanism", arguments.mechanism)
    if arguments.simulation.planner.costs is not None:
        raise InputError("--costs cannot be used with loop, which fits the costs itself, starting from reserved time")
    simulation = prepare_simulation(arguments.simulation, mechanisms, "loop")
    check_strategies(simulation.jobs, simulation.plans)
    if arguments.output is None:
        loop, _ = _close(arguments, simulation, mechanisms[0], None)
        _print(loop)
        return
    with output_directory(arguments.output) as directory:
        check_fresh(directory, RUN, force=arguments.force)
        loop, stop = _close(arguments, simulation, mechanisms[0], directory)
        _store(arguments, simulation, mechanisms[0], directory, loop)
    if stop is not None:
        raise Interrupted.of(stop, f"the rounds that were complete are in {directory}; start it again with --force")
    _print(loop)
    print(f"results are in {directory}; costs.json is for 'holdfast plan --costs' and 'holdfast run --costs'")


def _close(
    arguments: Arguments, simulation: Simulation, mechanism: str, directory: Path | None
) -> tuple[Loop, KeyboardInterrupt | None]:
    """Announce the input, and run the loop; returns also what has interrupted it."""
    from holdfast.experiments.planning.closed_loop import Loop, Round, close_loop
    from holdfast.experiments.recordings.run_file import holds_run

    found: list[Round] = []

    def report_round(latest: Round) -> None:
        found.append(latest)
        row = latest.row()
        print(
            f"round {latest.number}: planned for alpha {row['alpha']:.3f}, gamma {row['gamma_h']:.2f} h; response of "
            f"stochastic jobs {row['turnaround_stochastic_h']:.2f} h, of all {row['turnaround_h']:.2f} h; better plans "
            f"would save {100 * latest.regret:.1f} %",
            flush=True,
        )

    for text in (simulation.about, simulation.types):
        if text:
            print(text)
    for text in (*simulation.caveats, simulation.lopsided, *simulation.gaps):
        if text:
            warn("loop", text)
    try:
        loop = close_loop(
            simulation.jobs,
            simulation.nodes,
            mechanism,
            planner=simulation.planner,
            options=simulation.options,
            rounds=arguments.rounds,
            tolerance=arguments.tolerance,
            classes=arguments.classes,
            plans=simulation.plans,
            progress=report_round,
            prior=simulation.prior,
        )
    except KeyboardInterrupt as stopped:
        if directory is None:
            raise
        if not found or holds_run(directory):
            raise Interrupted.of(stopped, f"{directory} holds what it held before; start it again") from None
        return Loop(tuple(found)), stopped
    return loop, None


def _store(arguments: Arguments, simulation: Simulation, mechanism: str, directory: Path, loop: Loop) -> None:
    """Write the rounds, the costs of the last one, the job table and the figure."""
    from holdfast.experiments.figures.planning.loop import plot_loop
    from holdfast.experiments.figures.style import save
    from holdfast.experiments.output.atomic_replace import handover
    from holdfast.experiments.output.json_files import write_sealed_json
    from holdfast.experiments.output.manifest import seal
    from holdfast.experiments.planning.closed_loop import COLUMNS
    from holdfast.experiments.recordings.run_file import PICTURE_FILES, RUN
    from holdfast.experiments.tables import write_csv
    from holdfast.policies.planning.waits.document import to_document
    from holdfast.workloads.table.job_table import write_job_table

    rows = [item.row() for item in loop.rounds]
    costs = to_document(
        loop.rounds[-1].prices or loop.rounds[-1].fitted,
        holdfast=VERSION,
        source={"loop": str(directory), "mechanism": mechanism, "rounds": len(rows), "stable": loop.stable},
    )
    with handover(directory, RUN) as new:
        if simulation.prepared:
            write_job_table(simulation.jobs, new / "jobs.csv")
        write_csv(new / "rounds.csv", rows, COLUMNS)
        write_sealed_json(str(new / "costs.json"), costs)
        save(plot_loop(rows), new / "loop")
        configuration = {"holdfast": VERSION, **simulation.configuration}
        seal(new, RUN, {**configuration, "rounds": arguments.rounds, "tolerance": arguments.tolerance}, PICTURE_FILES)


def _print(loop: Loop) -> None:
    """Print the rounds, and what the plans of the last one gain."""
    from holdfast.experiments.planning.closed_loop import ROUNDS
    from holdfast.experiments.tables import render

    rows = [item.row() for item in loop.rounds]
    print(f"\n{render(rows, ROUNDS)}\n")
    print("the plans are stable" if loop.stable else f"the plans are not stable after {len(rows)} rounds")
    for name, what in (("turnaround_stochastic_h", "stochastic jobs respond"), ("turnaround_h", "all jobs respond")):
        gain = loop.gain(name)
        share = f"{abs(100 * gain):.1f}"
        change = f"{share} % {'sooner' if gain > 0 else 'later'} than" if float(share) else "as soon as"
        print(f"{what} {change} with plans for reserved time")

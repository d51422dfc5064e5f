"""``holdfast experiment``: reproduce a table or figure of the papers."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.workloads.ground.parameters import Parameter, SecondsAbove0, Seed, wholes
from holdfast.workloads.ground.release import VERSION
from holdfast.workloads.ground.units import duration_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.experiments.study.experiment import Experiment
    from holdfast.experiments.study.verdicts import Verdict

__all__ = ["KEPT", "Arguments", "main"]

#: What is kept when a signal ends the command.
KEPT = "{output} holds what is done; give the same command again to continue"


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    id: Annotated[
        tuple[str, ...],
        Parameter(
            "ids such as checkpoint-fig6; without one, list all experiments",
            metavar="ID",
            positional=True,
            repeated=True,
        ),
    ] = ()
    output: Annotated[
        str | None, Parameter("directory to write", default="none, and an ID needs it", metavar="DIR", short="-o")
    ] = None
    quick: Annotated[bool, Parameter("use small sizes: at most 30 s for each experiment")] = False
    seed: Seed = 0
    set: Annotated[
        tuple[str, ...],
        Parameter("change a parameter; ID.json lists them", default="none", metavar="NAME=VALUE", repeated=True),
    ] = ()
    workers: Annotated[int | None, wholes(1), Parameter("number of processes", default="one for each core")] = None
    limit: Annotated[
        SecondsAbove0 | None,
        Parameter("time after which the command stops with exit status 1; the same command continues", default="none"),
    ] = None
    stored_rows: Annotated[
        str | None,
        Parameter(
            "add the stored rows of FILE, which --pack has written on any machine, before measuring",
            default="none",
            metavar="FILE",
            names=("--from",),
        ),
    ] = None
    pack: Annotated[
        str | None,
        Parameter(
            "write the stored rows into one small file at the end, also after an interruption",
            default="none",
            metavar="FILE",
        ),
    ] = None


def main(arguments: Arguments) -> int:
    """Run the command."""
    from holdfast.experiments.output.directory_checks import check_kind
    from holdfast.experiments.output.locks import write_lock
    from holdfast.experiments.output.output_directory import make_directory
    from holdfast.experiments.study.experiment import all_experiments, find_experiment
    from holdfast.experiments.study.parameters import with_settings
    from holdfast.workloads.ground.errors import InputError

    if not arguments.id:
        for item in all_experiments().values():
            print(f"{item.id:<22}{item.title}")
        return 0
    chosen = [find_experiment(name) for name in arguments.id]
    settings = [with_settings(item.quick if arguments.quick else item.parameters, arguments.set) for item in chosen]
    if arguments.output is None:
        raise InputError("give the directory to write with -o DIR")
    is_new, had_runs = not Path(arguments.output).exists(), Path(arguments.output, "runs").exists()
    directory = make_directory(arguments.output)
    try:
        with write_lock(directory):
            check_kind(directory, "experiments")
            is_complete = _run_all(arguments, list(zip(chosen, settings, strict=True)), directory)
    except InputError:
        # A parameter that is refused while the experiment measures leaves nothing.
        made = directory if is_new else directory / "runs"
        if (is_new or not had_runs) and _is_bare(made):
            with suppress(OSError):
                shutil.rmtree(made)
        raise
    if not is_complete:
        return 1
    print(f"tables, figures and verdicts are in {directory}")
    return 0


def _run_all(arguments: Arguments, chosen: Sequence[tuple[Experiment, Any]], directory: Path) -> bool:
    """Run experiments with their parameters; returns whether all have ended before the time limit."""
    from holdfast.experiments.output.signals import Interrupted, hold_interruptions, time_limit
    from holdfast.experiments.study.packed_store import export_store, import_store

    store = directory / "runs"
    if arguments.stored_rows is not None:
        ids = [item.id for item, _ in chosen]
        count = import_store(Path(arguments.stored_rows), store, ids, arguments.seed)
        print(f"{arguments.stored_rows}: {count:,} stored rows are new here", flush=True)
    try:
        with time_limit(arguments.limit):
            for item, parameters in chosen:
                _run(arguments, item, parameters, directory)
    except Interrupted as stop:
        if stop.name != "SIGALRM":
            raise
        limit = duration_text(arguments.limit or 0.0)
        print(f"the limit of {limit} is reached: {KEPT.format(output=directory)}")
        return False
    finally:
        if arguments.pack is not None:
            with hold_interruptions():
                count = export_store(store, Path(arguments.pack))
            print(f"{arguments.pack} holds {count:,} stored rows; --from takes them over on another machine")
    return True


def _run(arguments: Arguments, item: Experiment, parameters: Any, directory: Path) -> None:
    """Run an experiment and print its verdicts."""
    from holdfast.experiments.study.experiment import run_experiment
    from holdfast.experiments.study.packed_store import record_request
    from holdfast.experiments.study.parameters import describe_changes
    from holdfast.experiments.study.report.content import Tally
    from holdfast.experiments.terminal import fill

    print(f"{item.id}: {item.title}", flush=True)
    if item.stores:
        record_request(directory / "runs", item.id, arguments.seed, parameters)
    verdicts = run_experiment(
        item, parameters, arguments.seed, directory, VERSION, workers=arguments.workers, progress=True
    )
    for verdict in verdicts:
        _show(verdict)
    changes = describe_changes(parameters, item.parameters)
    measured = f"; measured with (at full size): {changes}" if changes else ""
    print(fill(f"{item.id}: {Tally.of_verdicts(verdicts).words}{measured}", rest="  "))


def _is_bare(directory: Path) -> bool:
    """Whether nothing was measured there."""
    return not any(path.is_file() and path.parent.name != "asked" for path in directory.rglob("*"))


def _show(verdict: Verdict) -> None:
    from holdfast.experiments.study.verdicts import HYPOTHESIS, format_p

    origin = "expected" if verdict.source is HYPOTHESIS else "the paper says"
    print(f"  {verdict.outcome_words}: {verdict.claim}")
    printed = f"{origin} {verdict.printed} ({verdict.source}); " if verdict.printed else ""
    print(f"    {printed}measured {verdict.measured}")
    for line in (verdict.rule, format_p(verdict), verdict.remark):
        if line:
            print(f"    {line}")

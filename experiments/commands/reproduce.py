"""``holdfast reproduce``: run all experiments of the papers and write one report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.experiments.commands.options.arguments import TrustOption, check_outputs
from holdfast.experiments.terminal import note, warn
from holdfast.workloads.ground.parameters import Parameter, Seed, wholes
from holdfast.workloads.ground.release import VERSION
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from holdfast.experiments.study.experiment import Experiment
    from holdfast.experiments.study.reproduction import Done, Reproduction

__all__ = ["KEPT", "Arguments", "main"]

#: What is kept when a signal ends the command.
KEPT = "{output} holds the complete experiments; the same command continues from there"


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    output: Annotated[str, Parameter("directory to write, or to continue in", metavar="DIR", short="-o")] = (
        "out/reproduction"
    )
    quick: Annotated[
        bool,
        Parameter(
            "use small sizes: some minutes for all experiments; for other sizes see holdfast experiment ID --set"
        ),
    ] = False
    only: Annotated[
        tuple[str, ...],
        Parameter(
            "run the experiments with ids such as 'checkpoint-*'; may be repeated",
            default="all",
            metavar="PATTERN",
            repeated=True,
        ),
    ] = ()
    paper: Annotated[
        tuple[str, ...],
        Parameter(
            "run the experiments of a paper (hybrid, checkpoint, incomplete, profiles), or our own (beyond); may be "
            "repeated",
            default="all",
            metavar="KEY",
            repeated=True,
        ),
    ] = ()
    seed: Seed = 0
    workers: Annotated[int | None, wholes(1), Parameter("number of processes", default="one for each core")] = None
    data: Annotated[
        str | None,
        Parameter(
            "directory of public data, such as DIR/slant/slant_makespan.csv", default="generated data", metavar="DIR"
        ),
    ] = None
    fresh: Annotated[bool, Parameter("measure everything again")] = False
    archive: Annotated[
        str | None,
        Parameter(
            "ZIP file to write: settings, seeds, versions and tables of the experiments",
            default="none",
            metavar="FILE",
        ),
    ] = None
    check: Annotated[
        str | None,
        Parameter(
            "archive or directory of experiments to measure again, with their own settings and seeds, and to compare "
            "byte by byte",
            default="none",
            metavar="FILE",
        ),
    ] = None
    trust: TrustOption = False


def main(arguments: Arguments) -> int:
    """Run the command; 1 if an experiment failed, or differs from what is checked."""
    if arguments.check is not None:
        return _check_artefact(arguments, arguments.check)
    from holdfast.experiments.study.artefact import write_artefact
    from holdfast.experiments.study.experiment import all_experiments

    check_outputs(arguments.archive, None)
    known = all_experiments()
    chosen = _match_ids(known, arguments.only, arguments.paper)
    data = None if arguments.data is None else _data(arguments.data, known.values())
    how = _reproduction(arguments, data, seed=arguments.seed, quick=arguments.quick)
    ordered = _reproduce(chosen, how, _words(how, arguments))
    if arguments.archive is not None:
        complete = [item.id for item in ordered if not (item.error or item.missing)]
        write_artefact(how.directory, complete, arguments.archive)
        print(f"settings, seeds, versions and tables are in {arguments.archive}")
    _say_what_lacks(ordered)
    return int(any(item.error for item in ordered))


def _check_artefact(arguments: Arguments, check: str) -> int:
    """Measure the experiments of an artefact again and compare."""
    from pathlib import Path

    from holdfast.experiments.study.artefact import differences, open_artefact, read_experiments
    from holdfast.experiments.study.parameters import with_recorded_data
    from holdfast.workloads.ground.errors import InputError, ParameterError

    for name in ("quick", "archive"):
        if getattr(arguments, name):
            raise InputError(f"--check takes the settings of what it checks: leave out --{name}")
    with open_artefact(Path(check)) as source:
        if Path(arguments.output).resolve() == source.resolve():
            raise ParameterError("--output", "another directory than the one that is checked", arguments.output)
        found = read_experiments(source)
        chosen = _match_ids(found, arguments.only, arguments.paper)
        data = None if arguments.data is None else _data(arguments.data, [item.experiment for item in found.values()])
        recorded = {}
        for name in chosen:
            own = found[name]
            place = own.sealed.directory / own.sealed.manifest
            recorded[name] = with_recorded_data(own.parameters, data, place), own.seed
        how = _reproduction(arguments, data, recorded=recorded)
        done = _reproduce(chosen, how, f"holdfast reproduce --check {check}")
        other = 0
        for item in done:
            reason = item.error or item.missing
            lines = [reason] if reason else differences(found[item.id], how.directory)
            other += bool(lines)
            for line in lines:
                print(f"{item.id}: {line}")
    count = len(done)
    same = f"{count - other} of {count_text(count, 'experiments')} came out with the same bytes"
    timed = [item.id for item in done if found[item.id].experiment.clocked]
    print(same + (f"; times measured by the clock were not compared ({', '.join(timed)})" if timed else ""))
    return int(other > 0)


def _reproduction(arguments: Arguments, data: Path | None, **how: Any) -> Reproduction:
    from holdfast.experiments.output.output_directory import make_directory
    from holdfast.experiments.study.reproduction import Reproduction

    workers = arguments.workers or _cores()
    directory = make_directory(arguments.output)
    return Reproduction(directory, VERSION, data=data, fresh=arguments.fresh, workers=workers, **how)


def _reproduce(chosen: Sequence[str], how: Reproduction, words: str) -> list[Done]:
    """Reproduce the experiments, print the progress, and write the report anew after each."""
    from holdfast.experiments.output.directory_checks import check_kind
    from holdfast.experiments.output.locks import write_lock
    from holdfast.experiments.study.cost_log import add_cost, read_costs
    from holdfast.experiments.study.experiment import storage_key
    from holdfast.experiments.study.report.content import Tally, write_report
    from holdfast.experiments.study.reproduction import reproduce

    known = how.catalogue()
    count = count_text(len(chosen), "experiments")
    note(f"{count}, up to {how.workers} at a time, into {how.directory}")
    note(_expected_cost(chosen, how))
    with write_lock(how.directory):
        check_kind(how.directory, "experiments")
        costs = read_costs(how.directory)
        report = how.directory / "report.html"
        done: dict[str, Done] = {}
        for item in reproduce(chosen, how):
            done[item.id] = item
            if item.seconds is not None and not item.error:
                experiment = known[item.id]
                stores = storage_key(experiment, how.find_seed(experiment))
                costs[item.id] = add_cost(how.directory, item.id, item.seconds, item.workers, stores=stores)
            ordered = [done[name] for name in chosen if name in done]
            seconds = {name: cost.seconds for name, cost in costs.items()}
            write_report(report, ordered, how, seconds, words, waiting=len(chosen) - len(done))
            note(f"[{len(done)}/{len(chosen)}] {_line(item)}")
    print(f"{count}: {Tally.of(ordered).words}; the report is {report}")
    return ordered


def _expected_cost(chosen: Sequence[str], how: Reproduction) -> str:
    """What the experiments that are not in the directory yet will cost."""
    from holdfast.experiments.study.expected_cost import expected_cost, experiment_size, stored_costs

    known = how.catalogue()
    missing = [name for name in chosen if how.fresh or not (how.directory / f"{name}.json").exists()]
    if not missing:
        return "expected cost: little, all are in the directory; those with other settings are measured again"
    sizes = {name: experiment_size(known[name], how.parameters(known[name])) for name in missing}
    return expected_cost(sizes, how.workers, stored_costs())


def _line(item: Done) -> str:
    from holdfast.experiments.study.report.content import Tally

    how = "measured before" if item.seconds is None else f"{item.seconds:.1f} s"
    if item.note:
        how += f"; {item.note}"
    if item.missing:
        return f"{item.id}: not run: {item.missing}"
    return f"{item.id}: {item.error}" if item.error else f"{item.id}: {Tally.of([item]).words} ({how})"


def _say_what_lacks(done: Sequence[Done]) -> None:
    """The last lines: what was not run and what would change that, then what failed."""
    for item in done:
        if item.missing:
            print(f"not run: {item.id}: {item.missing}")
    failed = [item.id for item in done if item.error]
    if failed:
        print(f"failed: {', '.join(failed)}")


def _match_ids(known: Iterable[str], patterns: Sequence[str], papers: Sequence[str] = ()) -> list[str]:
    """Ids of the papers that match one of the patterns, in their order."""
    from fnmatch import fnmatchcase

    from holdfast.experiments.study.publications import PUBLICATIONS, paper_key
    from holdfast.workloads.ground.errors import InputError, UnknownNameError

    names = list(known)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UnknownNameError("experiment", pattern, names)
    for paper in papers:
        if paper not in PUBLICATIONS:
            raise UnknownNameError("paper", paper, list(PUBLICATIONS))
    found = [
        name
        for name in names
        if (not papers or paper_key(name) in papers)
        and (not patterns or any(fnmatchcase(name, pattern) for pattern in patterns))
    ]
    if not found:
        raise InputError(f"no experiment of --paper {', '.join(papers)} matches --only {', '.join(patterns) or '*'}")
    return found


def _data(path: str, experiments: Iterable[Experiment]) -> Path:
    """The directory of public data; it must have some."""
    from pathlib import Path

    from holdfast.experiments.study.parameters import data_files
    from holdfast.workloads.ground.errors import InputError

    directory = Path(path)
    wanted = list(dict.fromkeys(file for item in experiments for file in data_files(item.parameters).values()))
    missing = [file for file in wanted if not (directory / file).is_file()]
    if wanted and len(missing) == len(wanted):
        raise InputError(f"--data {path}: has none of {', '.join(wanted)}")
    for file in missing:
        warn("reproduce", f"{directory / file} not found; generated data are used instead")
    return directory


def _words(how: Reproduction, arguments: Arguments) -> str:
    """The command of this reproduction, as far as results depend on it."""
    import shlex

    words = ["holdfast", "reproduce", *(["--quick"] if how.quick else []), "--seed", str(how.seed)]
    for pattern in arguments.only:
        words += ["--only", pattern]
    for paper in arguments.paper:
        words += ["--paper", paper]
    return shlex.join([*words, *([] if how.data is None else ["--data", str(how.data)])])


def _cores() -> int:
    import os

    # Those that this process may use, if the system reports them.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

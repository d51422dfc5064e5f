"""``holdfast whatif``: what changes of the machine or of its rules would do to the jobs of a log."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

from holdfast.experiments.commands.options.arguments import LogReading, check_outputs, json_file, read_options
from holdfast.experiments.commands.options.command_lines import command_line
from holdfast.experiments.commands.options.machine_options import check_reading, read_machine_log
from holdfast.experiments.terminal import escape, warn
from holdfast.experiments.whatif.alternatives import Alternatives
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.parameters import Parameter, wholes

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    log: Annotated[str, Parameter("log of jobs, with recorded starts if possible", metavar="LOG", positional=True)]
    today: Annotated[
        str,
        Parameter(
            "today's rule and machine, as order=multifactor,backfilling=slurm,nodes=100, or with machine=FILE.toml",
            default="order=fcfs,backfilling=easy, and the size in the log",
            metavar="KEY=VALUE",
        ),
    ] = ""
    changes: Alternatives
    seeds: Annotated[
        int, wholes(1, 100), Parameter("draws of alternatives with on-demand projects, in which something is random")
    ] = 5
    workers: Annotated[int | None, wholes(1, 1024), Parameter("processes", default="one for each core")] = None
    report: Annotated[
        str | None, Parameter("write the answer as one HTML page", default="not written", metavar="FILE.html")
    ] = None
    json: Annotated[str | None, json_file()] = None
    reading: LogReading


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.output.json_files import write_json
    from holdfast.experiments.sweeps.progress import CountBar
    from holdfast.experiments.whatif.question import whatif
    from holdfast.workloads.logs.readers import read_trace

    check_outputs(arguments.report, None)
    check_outputs(arguments.json, None)
    asked = {item.name: getattr(arguments.changes, item.name) for item in fields(Alternatives)}
    today = _today(arguments.today)
    log: Any
    if "machine" in today:
        check_reading(None, arguments.reading)
        log = read_machine_log(arguments.log, arguments.reading)
    else:
        log = read_trace(arguments.log, **read_options(arguments.reading))
    with CountBar() as bar:
        try:
            answer = whatif(
                log, today=today, seeds=arguments.seeds, workers=arguments.workers, progress=bar.advance, **asked
            )
        except ParameterError as error:
            if error.parameter not in asked:
                raise
            option = f"--{error.parameter.replace('_', '-')}"
            raise ParameterError(option, error.legal, error.received) from None
    for sentence in answer.caveats:
        warn("whatif", sentence)
    if arguments.report is not None:
        words = command_line("whatif", arguments, arguments.changes, arguments.reading)
        answer.write_page(arguments.report, words)
    if arguments.json is not None:
        write_json(arguments.json, answer.document())
    if arguments.json != "-":
        print("\n".join(map(escape, answer.text().split("\n"))))
        for path in filter(None, (arguments.json, arguments.report)):
            print(f"written to {path}")


def _today(text: str) -> dict[str, Any]:
    """Today's rule from its words: a value may contain commas where no key follows them."""
    from holdfast.experiments.whatif.question import TODAY

    found: dict[str, Any] = {}
    name = ""
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if equals and key.strip() in TODAY:
            name = key.strip()
            if name in found:
                raise ParameterError("--today", f"one value for {name}", text)
            found[name] = value.strip()
        elif name:
            found[name] += f",{part}"
        else:
            legal = "order=ORDER,backfilling=RULE,nodes=N or machine=FILE.toml, or some of these"
            raise ParameterError("--today", legal, text)
    return found

"""``holdfast picture``: draw one figure of a simulation, for a paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from holdfast.experiments.commands.options.arguments import TrustOption, check_outputs, chosen_run
from holdfast.experiments.commands.options.figure_options import FigureOptions
from holdfast.experiments.figures.recording.recording_figures import RECORDING_FIGURES
from holdfast.experiments.recordings.time_windows import Window
from holdfast.workloads.ground.parameters import Parameter, Positive

__all__ = ["Arguments", "main"]


_KINDS = "; ".join(f"{name}: {entry.about}" for name, entry in RECORDING_FIGURES.items())


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    kind: Annotated[str, Parameter(f"{_KINDS}; all: all of them", metavar="KIND", positional=True)]
    directory: Annotated[str, Parameter("results of 'holdfast run --events'", metavar="DIR", positional=True)]
    output: Annotated[
        str | None, Parameter("file name without suffix", default="=DIR/KIND-MECHANISM", metavar="NAME", short="-o")
    ] = None
    mechanism: Annotated[str | None, chosen_run()] = None
    window: Window
    quantile: Annotated[Positive, Parameter("quantile of the waits to draw beside their median", metavar="SHARE")] = 0.9
    color: Annotated[str, Parameter("colours of a gantt chart by type, user, project or size")] = "type"
    look: FigureOptions
    trust: TrustOption = False


def main(arguments: Arguments) -> None:
    """Run the command."""
    from pathlib import Path

    from holdfast.experiments.figures.recording.recording_figures import figure_path, select_figures
    from holdfast.experiments.recordings.archive import read_recording
    from holdfast.experiments.recordings.run_file import is_partly_measured
    from holdfast.workloads.ground.errors import InputError

    names = select_figures(arguments.kind)
    check_outputs(None, arguments.output)
    events = any(RECORDING_FIGURES[name].events for name in names)
    recording = read_recording(arguments.directory, arguments.mechanism, events=events, trust=arguments.trust)
    form = arguments.look.form
    figures = {}
    for name in names:
        try:
            figures[name] = form.draw(
                RECORDING_FIGURES[name].draw, recording, arguments.window, arguments.quantile, arguments.color
            )
        except InputError as error:
            if len(names) == 1:
                raise
            # Of all pictures some may have nothing to show.
            print(f"no {name}: {error}")
    if arguments.window == Window() and is_partly_measured(Path(arguments.directory)):
        print("drawn: the whole run, with its warmup and cooldown (--from and --to choose)")
    for name, figure in figures.items():
        stem = arguments.output or str(figure_path(Path(arguments.directory), name, recording.name))
        if arguments.output and len(names) > 1:
            stem = f"{arguments.output}-{name}"
        paths = form.save(figure, stem, follow=arguments.output is not None)
        print(f"{name}: {', '.join(map(str, paths))}")

"""The answers of experiments, as files beside the pages of the documentation that show them.

``docs/experiments/KEY.json`` holds for each measured experiment of a paper all verdicts in full: claim, printed value
with its source, measured value, outcome, rule, p-values and remark. Pages show a part of it
(:mod:`holdfast.experiments.study.report.pages`), the site all of it
(:mod:`holdfast.experiments.study.report.verdict_pages`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from holdfast.experiments.study.cost_log import format_cost, read_costs
from holdfast.experiments.study.experiment import Experiment, judge_experiment, read_tables
from holdfast.experiments.study.parameters import data_files
from holdfast.experiments.study.verdicts import HYPOTHESIS, Outcome, Verdict, format_p, remaining_decisions
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.files import atomic_open, decode_text, read_bytes

__all__ = ["COUNTED", "Answer", "Judgement", "measure_answer", "read_answers", "write_answers"]

#: Columns of the counts: outcomes, and statements by construction
#: (:attr:`holdfast.experiments.study.verdicts.Verdict.counted_as`).
COUNTED = (*map(str, Outcome), "holds by construction")


@dataclass(frozen=True)
class Judgement:
    """A verdict in words.

    Attributes
    ----------
    claim, printed, measured, construction, rule, remark
        As of :class:`holdfast.experiments.study.verdicts.Verdict`.
    source
        Where the printed value comes from; empty for a hypothesis.
    outcome
        One of :data:`COUNTED`.
    p
        The p-value and the one after Holm's correction; empty without a test.
    survives
        Whether the decision remains after Holm's correction.
    """

    claim: str
    printed: str
    source: str
    measured: str
    outcome: str
    construction: str
    rule: str
    p: str
    remark: str
    survives: bool

    @classmethod
    def from_verdict(cls, verdict: Verdict) -> Judgement:
        """The words of a verdict."""
        return cls(
            claim=verdict.claim,
            printed=verdict.printed,
            source="" if verdict.source is HYPOTHESIS else str(verdict.source),
            measured=verdict.measured,
            outcome=verdict.counted_as,
            construction=verdict.construction if verdict.by_construction else "",
            rule=verdict.rule,
            p=format_p(verdict),
            remark=verdict.remark,
            survives=verdict.survives,
        )


@dataclass(frozen=True)
class Answer:
    """What an experiment found, and how it was measured.

    Attributes
    ----------
    picture
        ``own``; ``none``: the experiment draws nothing; ``withheld``: it shows single runs of data that are not ours.
    verdicts
        In the order of the experiment.
    holm
        Sentence on what Holm's correction leaves; empty for fewer than two tests.
    settings
        Options of the command that measured it; empty: none.
    seed
        Seed of the measurement.
    data
        SHA-256 of the measured files, by name.
    version, sources
        Version of the package and digest of its sources.
    cost
        Date, time and processes; empty where unknown.
    commit
        Commit of the sources; empty where unknown.
    """

    picture: str
    verdicts: tuple[Judgement, ...]
    holm: str
    settings: str
    seed: int
    data: Mapping[str, str]
    version: str
    sources: str
    cost: str
    commit: str = ""

    @property
    def counts(self) -> Counter[str]:
        """Number of verdicts by outcome."""
        return Counter(verdict.outcome for verdict in self.verdicts)


def read_answers(path: Path) -> dict[str, Answer]:
    """The answers of a file, by experiment; empty without the file."""
    if not path.exists():
        return {}
    found: Mapping[str, Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: Answer(**{**answer, "verdicts": tuple(Judgement(**verdict) for verdict in answer["verdicts"])})
        for name, answer in found.items()
    }


def write_answers(path: Path, answers: Mapping[str, Answer]) -> None:
    """Write answers, one verdict a line."""
    with atomic_open(path) as file:
        file.write("{\n" + ",\n".join(f'"{name}": {_format(answer)}' for name, answer in answers.items()) + "\n}\n")


def _format(answer: Answer) -> str:
    whole = {name: value for name, value in asdict(answer).items() if name != "verdicts"}
    verdicts = ",\n".join(json.dumps(asdict(verdict), ensure_ascii=False) for verdict in answer.verdicts)
    return f'{json.dumps(whole, ensure_ascii=False)[:-1]},\n"verdicts": [\n{verdicts}\n]}}'


def measure_answer(item: Experiment, directory: Path) -> Answer:
    """The answer of an experiment from its tables.

    Parameters
    ----------
    item
        The experiment.
    directory
        Where its tables are.

    Returns
    -------
    Answer

    Raises
    ------
    InputError
        If it would show a row of data that may not be redistributed.
    """
    record = json.loads((directory / f"{item.id}.json").read_text(encoding="utf-8"))
    tables = read_tables(item.id, directory)
    verdicts = judge_experiment(item, tables, record)
    stand_in = any(not row.get("measured", True) for row in tables.get("data", ()))
    # A picture of generated data would appear beside verdicts on other data.
    withheld = item.single_runs and record["data"] and not stand_in
    files, cost = data_files(item.parameters), read_costs(directory).get(item.id)
    answer = Answer(
        picture="withheld" if withheld else "none" if item.draw is None else "own",
        verdicts=tuple(map(Judgement.from_verdict, verdicts)),
        holm=remaining_decisions(verdicts),
        settings=_settings(item, record),
        seed=record["seed"],
        data={files[name]: digest for name, digest in record["data"].items()},
        version=record["holdfast"],
        sources=record["sources"],
        cost="" if cost is None else format_cost(cost),
        commit="" if cost is None else cost.commit,
    )
    _refuse_rows(item, record, answer)
    return answer


def _settings(item: Experiment, record: Mapping[str, Any]) -> str:
    """The options that make the command measure the same, without its files."""
    files = data_files(item.parameters)

    def select_sizes(parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in parameters.items() if name not in files}

    own = select_sizes(record["parameters"])

    def apart(parameters: Any) -> list[str]:
        whole = select_sizes(json.loads(json.dumps(asdict(parameters), default=str)))
        return [
            f"--set {name}={','.join(map(str, value)) if isinstance(value, list) else value}"
            for name, value in own.items()
            if whole.get(name) != value
        ]

    others = apart(item.parameters)
    return "--quick" if others and not apart(item.quick) else " ".join(others)


def _refuse_rows(item: Experiment, record: Mapping[str, Any], answer: Answer) -> None:
    """Refuse an answer that contains rows of data that may not be redistributed; aggregates are allowed.

    Raises
    ------
    InputError
        If a verdict has all cells of a row of the data, of three or more.
    """
    shown = [set(re.findall(r"[\w.]+", " ".join(map(str, asdict(verdict).values())))) for verdict in answer.verdicts]
    for name in record["data"]:
        path = Path(record["parameters"][name])
        text = decode_text(read_bytes(path), path) if path.is_file() else ""
        for number, line in enumerate(text.splitlines(), 1):
            # Cells are separated by commas or, in logs, by blanks.
            cells = set(re.split(r"[,\s]+", line)) - {""}
            if len(cells) > 2 and any(cells <= words for words in shown):
                raise InputError(f"{path}:{number}: {item.id} shows this row, but the data may not be published")

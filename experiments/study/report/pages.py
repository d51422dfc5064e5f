"""Generator of the documentation pages about experiments: question, command, figure and answer.

``python -m holdfast.experiments.study.report.pages DIR [DOCS]`` writes them to DOCS (default ``docs/experiments``) from
the experiments and their answers, which it takes from the tables in DIR, or keeps where DIR holds none
(:mod:`holdfast.experiments.study.report.answers`). A test compares the pages with both.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path

from holdfast.experiments.study.cost_log import process_seconds
from holdfast.experiments.study.experiment import Experiment, all_experiments, read_tables
from holdfast.experiments.study.parameters import data_files
from holdfast.experiments.study.publications import PUBLICATIONS, Publication, paper_key
from holdfast.experiments.study.redraw import find_experiments
from holdfast.experiments.study.report.answers import (
    COUNTED,
    Answer,
    Judgement,
    measure_answer,
    read_answers,
    write_answers,
)
from holdfast.experiments.study.report.escapes import escape_markdown
from holdfast.experiments.study.report.small_png import small_png
from holdfast.workloads.ground.files import atomic_open

__all__ = ["contents", "page"]

#: Outcomes that have a line in the tables of the pages; the others are counted below.
_SHOWN = ("holds", "does not hold", "undecided")
#: Longest measured value that is shown whole [words].
_LONGEST = 10
#: Most statements of an experiment of which the undecided ones, too, stand in its table.
_MOST = 6
#: Fewest first words that a claim must share with the one above to be shortened, and fewest last words beside them.
_SHARED = 3
#: Fewest last words that are left out by themselves.
_SHARED_END = 5
#: Most claims alike that stand in lines of their own.
_FEW = 3
#: Most words in which claims differ that share a line.
_DIFFERENT = 2
#: First paragraphs of the index page.
_INTRODUCTION = (
    "What is reproduced from four papers, and what we asked beyond them. `holdfast experiment ID -o DIR` runs one, "
    "[`holdfast reproduce`](../commands.md#holdfast-reproduce) all of them; "
    "`--quick` takes small sizes. The pages have the questions; tables of many statements leave out the undecided. "
    "Files `.json` beside them have each statement in full, with rule, p-values, remarks, seed and commit.",
    "Each statement of a paper, or hypothesis of ours, has a verdict, by a rule that stood before the data. Some "
    "statements are judged by several experiments; a statement about data that are not public is not comparable. "
    "What cannot come out otherwise where the code is right holds by construction, and is left out of the counts.",
)


def page(paper: Publication, experiments: Sequence[Experiment], answers: Mapping[str, Answer]) -> str:
    """The page of a paper; experiments without an answer are marked as not measured yet."""
    sizes = "the sizes of the paper" if paper.printed else "their own sizes"
    how = (
        f"Measured with {sizes} and seed 0 unless stated. † does not remain after Holm's correction. "
        f"{_values(answers)}[{paper.key}.json]({paper.key}.json) has all in full, with costs. "
        "[All experiments](README.md)."
    )
    if any(data_files(item.parameters) for item in experiments):
        how += " `--set NAME=FILE` takes [measured data](../chains.md#files); generated data stand in for absent ones."
    parts = [f"# {paper.title}", f"{paper.source[0].upper()}{paper.source[1:]}. {paper.about}", how]
    above: dict[tuple[str, str], str] = {}
    earlier: set[str] = set()
    for item in experiments:
        answer = answers.get(item.id)
        if answer is not None:
            answer = _omit_end_of_question(item.question, answer)
        parts += _section(item, answer, above, earlier)
        verdicts = answer.verdicts if answer else ()
        above = {_same(verdict): item.id for verdict in verdicts} | above
        earlier |= {verdict.claim for verdict in verdicts}
    return "\n\n".join(parts) + "\n"


def _values(answers: Mapping[str, Answer]) -> str:
    bracket = any("[" in verdict.measured for answer in answers.values() for verdict in answer.verdicts)
    return "Brackets are 95 % intervals. " if bracket else ""


def _section(
    item: Experiment, answer: Answer | None, above: Mapping[tuple[str, str], str], earlier: Set[str]
) -> Iterator[str]:
    """The section of an experiment.

    ``above`` maps the claim and value of each earlier statement of the page to its experiment. ``earlier`` contains the
    claims of these statements.
    """
    paper = PUBLICATIONS[paper_key(item.id)]
    yield f"## {item.id}"
    yield f"*{escape_markdown(item.question)}*"
    if answer is None:
        yield "*Not measured yet.*"
        return
    if answer.picture == "own":
        yield f"![{item.id}](images/{item.id}.png)"
    judged = [verdict for verdict in answer.verdicts if verdict.outcome in _SHOWN]
    shown = [verdict for verdict in judged if _same(verdict) not in above]
    undecided = sum(verdict.outcome == "undecided" for verdict in shown) if len(shown) > _MOST else 0
    if undecided:
        shown = [verdict for verdict in shown if verdict.outcome != "undecided"]
    if shown:
        columns = [paper.statement.lower(), *(["printed"] if paper.printed else []), "measured", "verdict"]
        rows = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
        shown = list(_merge_alike(shown))
        claims = _shorten_claims([_omit_repeated_text(verdict.claim, earlier) for verdict in shown])
        yield "\n".join([*rows, *(_row(*pair, paper.printed) for pair in zip(claims, shown, strict=True))])
    repeated = Counter(above[_same(verdict)] for verdict in judged if _same(verdict) in above)
    notes = [f"As in [{name}](#{name}): {count}." for name, count in repeated.items()]
    if undecided:
        notes.insert(0, f"Undecided: {undecided} more.")
    notes += _notes(answer)
    if notes:
        yield " ".join(notes)


def _same(verdict: Judgement) -> tuple[str, str]:
    """What two experiments have in common that judge one statement by the same measurement."""
    return verdict.claim, verdict.measured


def _omit_end_of_question(question: str, answer: Answer) -> Answer:
    """The answer without the last words of its claims that all of them share with the question above the table."""
    asked = question.removesuffix("?").split()[::-1]
    shared = [_count_equal(asked, verdict.claim.split()[::-1], len(asked)) for verdict in answer.verdicts]
    end = min(shared, default=0)
    if end < _SHARED:
        return answer
    claims = (" ".join(verdict.claim.split()[:-end]) for verdict in answer.verdicts)
    verdicts = tuple(replace(verdict, claim=claim) for claim, verdict in zip(claims, answer.verdicts, strict=True))
    return replace(answer, verdicts=verdicts)


def _omit_repeated_text(claim: str, earlier: Set[str]) -> str:
    """Shorten "Observation 1a, under X: text" to its name if the page already has "Observation 1a: text"."""
    name, _, text = claim.partition(": ")
    number, _, addition = name.partition(", ")
    return name if addition and f"{number}: {text}" in earlier else claim


def _notes(answer: Answer) -> Iterator[str]:
    """Below the table: the statements that are not in it, and how it was measured."""
    counts = answer.counts
    for outcome in COUNTED:
        if outcome not in _SHOWN and counts[outcome]:
            yield f"{outcome.capitalize()}: {counts[outcome]}."
    if answer.picture == "withheld":
        yield "Its picture shows single runs of data that are not ours to publish."
    if answer.data:
        yield f"Data: {', '.join(f'`{name}`' for name in answer.data)}."
    if answer.settings:
        yield f"`{answer.settings}`."
    if answer.seed:
        yield f"Seed {answer.seed}."


def _row(claim: str, verdict: Judgement, with_printed: bool) -> str:
    """A verdict as a line of a table."""
    outcome = _outcome(verdict)
    if verdict.p and not {"[", "…"} & set(verdict.measured):
        outcome += f", {verdict.p.partition(', ')[0]}"
    measured = _shorten_list(verdict.measured)
    printed = [escape_markdown(verdict.printed)] if with_printed else []
    return f"| {' | '.join([escape_markdown(claim), *printed, escape_markdown(measured), outcome])} |"


def _outcome(verdict: Judgement) -> str:
    """The outcome, with a mark where it does not remain after Holm's correction."""
    mark = "†" if verdict.p and verdict.outcome != "undecided" and not verdict.survives else ""
    return f"**{verdict.outcome}**{mark}"


def _merge_alike(verdicts: Sequence[Judgement]) -> Iterator[Judgement]:
    """Merge many similar claims into one line for each outcome, if their measured values are too long for the table."""
    families: list[list[Judgement]] = []
    for verdict in verdicts:
        if families and _are_alike(families[-1][0], verdict):
            families[-1].append(verdict)
        else:
            families.append([verdict])
    for family in families:
        if len(family) <= _FEW:
            yield from family
            continue
        words = [verdict.claim.split() for verdict in family]
        begin = min(_count_equal(words[0], own, len(own)) for own in words[1:])
        end = min(_count_equal(words[0][::-1], own[::-1], len(own) - begin) for own in words[1:])
        groups: dict[str, list[int]] = {}
        for place, verdict in enumerate(family):
            groups.setdefault(_outcome(verdict), []).append(place)
        for places in groups.values():
            names = ", ".join(" ".join(words[place][begin : len(words[place]) - end]) for place in places)
            claim = " ".join([*words[0][:begin], names, *words[0][len(words[0]) - end :]])
            yield replace(family[places[0]], claim=claim, measured="…")


def _are_alike(one: Judgement, other: Judgement) -> bool:
    """Whether two claims differ in at most two words and both measured values are too long for the table."""
    words, others = one.claim.split(), other.claim.split()
    most = min(len(words), len(others))
    begin = _count_equal(words, others, most)
    end = _count_equal(words[::-1], others[::-1], most - begin)
    cut = all(_shorten_list(verdict.measured).endswith("; …") for verdict in (one, other))
    return cut and one.printed == other.printed and max(len(words), len(others)) - begin - end <= _DIFFERENT


def _shorten_claims(claims: Sequence[str]) -> list[str]:
    """Claims, with an ellipsis for a beginning and an end that they share with the claim above."""
    short = []
    for former, claim in zip(["", *claims], claims, strict=False):
        words, other = claim.split(), former.split()
        most = min(len(words), len(other)) - 1
        begin = _count_equal(words, other, most)
        end = _count_equal(words[::-1], other[::-1], most - begin)
        # A number stays with its unit.
        end -= bool(end) and words[len(words) - end - 1][-1].isdigit()
        rest = " ".join(words[begin : len(words) - end])
        begin, end = (
            (begin if begin >= _SHARED else 0),
            (end if min(begin, end) >= _SHARED or end >= _SHARED_END else 0),
        )
        if rest.count("(") != rest.count(")"):
            end = 0
        parts = ["…"] * bool(begin) + words[begin : len(words) - end] + ["…"] * bool(end)
        short.append(" ".join(parts))
    return short


def _count_equal(words: Sequence[str], other: Sequence[str], most: int) -> int:
    """Number of words that two texts have in common at the beginning, of ``most``."""
    return next((at for at in range(most) if words[at] != other[at]), max(most, 0))


def _shorten_list(text: str) -> str:
    """A list, cut after as many of its parts as are short enough together."""
    kept, *rest = text.split("; ")
    while rest and len(f"{kept}; {rest[0]}".split()) <= _LONGEST:
        kept = f"{kept}; {rest.pop(0)}"
    if len(kept.split()) > _LONGEST:
        kept = re.sub(r" \([^()]*\)$", "", kept)
    return f"{kept}; …" if rest else kept


def contents(experiments: Iterable[Experiment], answers: Mapping[str, Answer]) -> str:
    """The index page, with counts of verdicts."""
    found = list(experiments)
    counts = {item.id: answers[item.id].counts if item.id in answers else Counter[str]() for item in found}
    ids = {paper: [item.id for item in found if paper_key(item.id) == paper.key] for paper in PUBLICATIONS.values()}
    papers = {paper: {id: counts[id] for id in own} for paper, own in ids.items() if own}
    sections = [part for paper, own in papers.items() for part in _counts_by_experiment(paper, own)]
    parts = ["# Experiments", *_INTRODUCTION, *_provenance(found, answers), _counts_by_paper(papers), *sections]
    return "\n\n".join(parts) + "\n"


def _counts_by_paper(papers: Mapping[Publication, Mapping[str, Counter[str]]]) -> str:
    """A table of counts with a line for each paper, and one for all."""
    sums = {f"[{paper.title}]({paper.key}.md)": sum(own.values(), Counter()) for paper, own in papers.items()}
    sums["all"] = sum(sums.values(), Counter())
    head = [f"| paper | {' | '.join(COUNTED)} |", f"|---|{'--:|' * len(COUNTED)}"]
    rows = [f"| {title} | {' | '.join(str(own[name] or '') for name in COUNTED)} |" for title, own in sums.items()]
    return "\n".join([*head, *rows])


def _counts_by_experiment(paper: Publication, counts: Mapping[str, Counter[str]]) -> Iterator[str]:
    """A table of counts with a line for each experiment of a paper; those without a verdict follow it."""
    yield f"## {paper.title}"
    rows = ["| id | holds/does not/undecided |", "|---|---|"]
    others = []
    for id, own in counts.items():
        place, tally = f"[{id}]({paper.key}.md#{id})", [own[name] for name in _SHOWN]
        if any(tally):
            rows.append(f"| {place} | {'/'.join(map(str, tally))} |")
        else:
            others.append(place)
    yield "\n".join(rows)
    if others:
        yield f"0/0/0: {', '.join(others)}."


def _provenance(experiments: Sequence[Experiment], answers: Mapping[str, Answer]) -> Iterator[str]:
    """A sentence on the commit that measured most of the answers, when, and at which cost; none if it is unknown."""
    commits = Counter(answer.commit for answer in answers.values() if answer.commit)
    if not commits:
        return
    [(commit, number)] = commits.most_common(1)
    costs = [answer.cost for answer in answers.values() if answer.commit == commit]
    dates = sorted(cost.split(",")[0] for cost in costs)
    hours = sum(process_seconds(cost) or 0.0 for cost in costs) / 3600
    days = f"on {dates[0]}" if dates[0] == dates[-1] else f"from {dates[0]} to {dates[-1]}"
    count = f"{number} of {len(experiments)}"
    yield f"Commit `{commit[:8]}` measured {count} experiments {days} in {hours:.1f} process-hours."


def main(words: Sequence[str]) -> None:
    """Write the pages."""
    directory = Path(words[0])
    docs = Path(words[1]) if len(words) > 1 else Path("docs/experiments")
    pictures = docs / "images"
    pictures.mkdir(parents=True, exist_ok=True)
    known = all_experiments()
    measured = {item.id for item in find_experiments(directory)}
    everything: dict[str, Answer] = {}
    for paper in PUBLICATIONS.values():
        own = [item for item in known.values() if paper_key(item.id) == paper.key]
        if not own:
            continue
        path = docs / f"{paper.key}.json"
        former = read_answers(path)
        answers = {}
        for item in own:
            if item.id in measured:
                answers[item.id] = measure_answer(item, directory)
                _draw(item, answers[item.id], directory, pictures)
            elif item.id in former:
                answers[item.id] = former[item.id]
        write_answers(path, answers)
        with atomic_open(docs / f"{paper.key}.md") as file:
            file.write(page(paper, own, answers))
        everything |= answers
    with atomic_open(docs / "README.md") as file:
        file.write(contents(known.values(), everything))


def _draw(item: Experiment, answer: Answer, directory: Path, pictures: Path) -> None:
    """Write the picture of an experiment, or remove a former one that would appear beside other data."""
    path = pictures / f"{item.id}.png"
    if answer.picture == "withheld":
        path.unlink(missing_ok=True)
    elif item.draw is not None:
        with atomic_open(path, "wb") as file:
            file.write(small_png(item.draw(read_tables(item.id, directory))))


if __name__ == "__main__":
    main(sys.argv[1:])

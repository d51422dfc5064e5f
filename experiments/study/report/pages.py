"""Generator of the documentation pages about experiments: question, command, figure and answer.

``python -m experiments.study.report.pages DIR [DOCS]`` writes the pages to DOCS (default ``docs/experiments``). The
answers come from the tables in DIR; answers of experiments without tables there remain unchanged. A test compares the
pages with the experiments.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.study.cost_log import Cost, read_costs, took
from experiments.study.experiment import Experiment, all_experiments, judge_experiment, read_tables
from experiments.study.parameters import data_files
from experiments.study.publications import PUBLICATIONS, Publication, paper_key
from experiments.study.redraw import find_experiments
from experiments.study.report.notes import with_notes
from experiments.study.verdicts import HYPOTHESIS, Outcome, Verdict, format_p, remaining
from workloads.ground.errors import InputError
from workloads.ground.files import atomic_open, decode_text, read_bytes

if TYPE_CHECKING:
    import PIL.Image
    from matplotlib.figure import Figure

__all__ = ["MOST_BYTES", "contents", "find_answers", "page"]

#: Maximum size of a picture [bytes].
MOST_BYTES = 96 * 1024
_DPI = 120
#: Maximum sum of the differences in red, green and blue between colours that are merged.
_NEAR = 18
_NOT_YET = "*Not measured yet.*"
#: Columns of the counts: outcomes, and statements by construction
#: (:attr:`experiments.study.verdicts.Verdict.counted_as`).
_COUNTED = (*Outcome, "holds by construction")


def page(paper: Publication, experiments: Iterable[Experiment], answers: Mapping[str, str]) -> str:
    """The page of a paper; experiments without an answer are marked as not measured yet."""
    parts = [
        f"# {paper.title}",
        f"{paper.source[0].upper()}{paper.source[1:]}. {paper.about}",
        "`holdfast reproduce` runs everything of this page; `--quick` takes small sizes. [All experiments](README.md).",
    ]
    parts += [_section(item, answers.get(item.id, _NOT_YET)) for item in experiments]
    return "\n\n".join(parts) + "\n"


def _section(item: Experiment, answer: str) -> str:
    parts = [
        f"## {item.id}",
        f"{_plain(item.title)}. *{_plain(item.question)}*",
        f"    holdfast experiment {item.id} -o out",
    ]
    parts += [
        f"`--set {name}=FILE` takes measured data ([Files](../chains.md#files)); "
        "without it, generated data stand in, or it is left out."
        for name in data_files(item.parameters)
    ]
    if item.choices:
        parts.append(
            f"{PUBLICATIONS[paper_key(item.id)].silent}:\n\n" + "\n".join(f"* {choice}" for choice in item.choices)
        )
    return "\n\n".join([*parts, f"<!-- answer {item.id} -->\n\n{answer}\n\n<!-- end -->"])


def contents(experiments: Iterable[Experiment], answers: Mapping[str, str]) -> str:
    """The index page, with counts of verdicts."""
    found = list(experiments)
    counts = {item.id: _count_verdicts(answers.get(item.id, "")) for item in found}
    parts = [
        "# Experiments",
        "What is reproduced from four papers, and what we asked beyond them. `holdfast experiment ID -o DIR` runs one, "
        "[`holdfast reproduce`](../commands.md#holdfast-reproduce) all of them, and writes one report.",
        "Each statement of a paper, or hypothesis of ours, has a verdict, by a rule that stood before the data. Some "
        "statements are judged by several experiments; a statement about data that are not public is not comparable. "
        "What cannot come out otherwise where the code is right holds by construction; it is no result, and counts as "
        "none.",
    ]
    sections, whole = [], []
    for paper in PUBLICATIONS.values():
        own = [item for item in found if paper_key(item.id) == paper.key]
        if own:
            rows = [
                _counts_row((f"[{item.id}]({paper.key}.md#{item.id})", _plain(item.question)), counts[item.id])
                for item in own
            ]
            sections += [f"## {paper.title}", "\n".join([*_counts_head("id", "question"), *rows])]
            whole.append((f"[{paper.title}]({paper.key}.md)", sum((counts[item.id] for item in own), Counter())))
    whole.append(("all", sum((number for _, number in whole), Counter())))
    rows = [_counts_row((title,), number) for title, number in whole]
    return "\n\n".join([*parts, "\n".join([*_counts_head("paper"), *rows]), *sections]) + "\n"


def _count_verdicts(answer: str) -> Counter[str]:
    return Counter(re.findall(rf"\| \*\*({'|'.join(_COUNTED)})\*\*", answer))


def _counts_head(*names: str) -> list[str]:
    columns = [*names, *_COUNTED]
    return [f"| {' | '.join(columns)} |", f"|{'---|' * len(names)}{'--:|' * len(_COUNTED)}"]


def _counts_row(cells: Sequence[str], numbers: Counter[str]) -> str:
    return f"| {' | '.join([*map(str, cells), *(str(numbers[name] or '') for name in _COUNTED)])} |"


def find_answers(text: str) -> dict[str, str]:
    """Extract the answers on a page, by experiment."""
    return dict(re.findall(r"<!-- answer (\S+) -->\n\n(.*?)\n\n<!-- end -->", text, flags=re.DOTALL))


def _answer(item: Experiment, directory: Path, pictures: Path) -> str:
    """Make the answer of an experiment from its tables, and write its picture beside the pages."""
    record = json.loads((directory / f"{item.id}.json").read_text(encoding="utf-8"))
    tables = read_tables(item.id, directory)
    parts = []
    stand_in = any(not row.get("measured", True) for row in tables.get("data", ()))
    if item.single_runs and record["data"] and not stand_in:
        # An old picture of generated data would be beside verdicts on other data.
        (pictures / f"{item.id}.png").unlink(missing_ok=True)
        parts.append("*Its picture shows single runs of data that are not ours to publish.*")
    elif item.draw is not None:
        with atomic_open(pictures / f"{item.id}.png", "wb") as file:
            file.write(_small_png(item.draw(tables)))
        parts.append(f"![{_plain(item.title)}]({pictures.name}/{item.id}.png)")
    verdicts = judge_experiment(item, tables, record)
    paper = PUBLICATIONS[paper_key(item.id)]
    columns = [paper.statement.lower(), *(["printed"] if paper.printed else []), "measured", "verdict"]
    head = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    parts.append(with_notes("\n".join([*head, *(_line(verdict, paper.printed) for verdict in verdicts)])))
    if remaining(verdicts):
        parts.append(remaining(verdicts))
    parts.append(f"*{_sizes(item, record)}*")
    parts.append(_origin(record, read_costs(directory).get(item.id)))
    answer = "\n\n".join(parts)
    _refuse_rows(item, record, answer)
    return answer


def _refuse_rows(item: Experiment, record: Mapping[str, Any], answer: str) -> None:
    """Refuse an answer that contains rows of data that may not be redistributed; aggregates are allowed.

    Raises
    ------
    InputError
        If a line of the answer has all cells of a row of the data with at least three cells.
    """
    shown = [set(re.findall(r"[\w.]+", line)) for line in answer.splitlines()]
    for name in record["data"]:
        path = Path(record["parameters"][name])
        text = decode_text(read_bytes(path), path) if path.is_file() else ""
        for number, line in enumerate(text.splitlines(), 1):
            # Cells are separated by commas or, in logs, by blanks.
            cells = set(re.split(r"[,\s]+", line)) - {""}
            if len(cells) > 2 and any(cells <= words for words in shown):
                raise InputError(f"{path}:{number}: {item.id} shows this row, but the data may not be published")


def _line(verdict: Verdict, with_printed: bool) -> str:
    """Format a verdict as a line of a table: the printed value with its source, the outcome with its rule."""
    printed = _plain(verdict.printed)
    if verdict.source is not HYPOTHESIS:
        printed = f"{printed} ({_plain(str(verdict.source))})"
    parts = [_plain(part) for part in (verdict.rule, format_p(verdict), verdict.remark) if part]
    words = [f"**{verdict.counted_as}**"]
    if verdict.by_construction:
        words.append(_plain(verdict.construction))
    outcome = "; ".join([*words, *parts])
    cells = [_plain(verdict.claim), *([printed] if with_printed else []), _plain(verdict.measured), outcome]
    return f"| {' | '.join(cells)} |"


def _sizes(item: Experiment, record: Mapping[str, Any]) -> str:
    files = data_files(item.parameters)

    def select_sizes(parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in parameters.items() if name not in files}

    own = select_sizes(record["parameters"])

    def apart(parameters: Any) -> list[str]:
        """Options of the command for the same measurement."""
        whole = select_sizes(json.loads(json.dumps(asdict(parameters), default=str)))
        return [
            f"--set {name}={','.join(map(str, value)) if isinstance(value, list) else value}"
            for name, value in own.items()
            if whole.get(name) != value
        ]

    sizes = "the sizes of the paper" if PUBLICATIONS[paper_key(item.id)].printed else "its own sizes"
    others = apart(item.parameters)
    if others:
        sizes = "the small sizes of `--quick`" if not apart(item.quick) else f"`{' '.join(others)}`"
    parts = [f"Measured with {sizes}, seed {record['seed']}."]
    parts += [
        f"Data: `{files[name]}`, SHA-256 `{digest}`, aggregated: the file is not ours to publish."
        for name, digest in record["data"].items()
    ]
    return " ".join(parts)


def _origin(record: Mapping[str, Any], cost: Cost | None) -> str:
    """Version, and date and cost if known."""
    version = f"Holdfast {record['holdfast']}, sources {record['sources']}"
    if cost is None:
        return f"*{version}.*"
    where = "1 process" if cost.workers == 1 else f"{cost.workers} processes"
    return f"*{version}; {cost.date}, {took(cost.seconds)} with {where}.*"


def _small_png(figure: Figure) -> bytes:
    """Render a PNG with a palette, with the most pixels and colours that fit into :data:`MOST_BYTES`."""
    from PIL import Image

    content = b""
    for dpi, fewest in ((_DPI, 32), (96, 32), (72, 16)):
        plain = io.BytesIO()
        figure.savefig(plain, format="png", dpi=dpi, metadata={"Software": None})
        image = Image.open(plain).convert("RGB")
        for colors in (128, 64, 32, 16):
            packed = io.BytesIO()
            palette = _palette(image, colors)
            image.quantize(palette=palette, dither=Image.Dither.NONE).save(packed, "png", optimize=True)
            content = packed.getvalue()
            if len(content) <= MOST_BYTES:
                return content
            if colors == fewest:
                break
    return content


def _palette(image: PIL.Image.Image, most: int) -> PIL.Image.Image:
    """Palette of a picture: its most frequent colours, except those close to a more frequent one.

    Even small marks keep their exact colours, because all pixels inside a mark are equal, while each mixed colour at an
    edge is rare. A median cut would merge the colours of small marks.
    """
    from PIL import Image

    pixels = np.asarray(image.convert("RGB"), dtype=np.int64).reshape(-1, 3) @ (1 << 16, 1 << 8, 1)
    colors, counts = np.unique(pixels, return_counts=True)
    chosen: list[tuple[int, int, int]] = []
    for color in colors[np.argsort(-counts, kind="stable")].tolist():
        red, green, blue = color >> 16, (color >> 8) & 255, color & 255
        if all(abs(red - r) + abs(green - g) + abs(blue - b) > _NEAR for r, g, b in chosen):
            chosen.append((red, green, blue))
            if len(chosen) == most:
                break
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for color in chosen for part in color])
    return palette


def _plain(text: str) -> str:
    """Escape the special characters of Markdown in a text."""
    return re.sub(r"([\\|*_<>`\[\]])", r"\\\1", text)


def main(words: Sequence[str]) -> None:
    """Write the pages."""
    directory = Path(words[0])
    docs = Path(words[1]) if len(words) > 1 else Path("docs/experiments")
    pictures = docs / "images"
    pictures.mkdir(parents=True, exist_ok=True)
    known = all_experiments()
    measured = {item.id: item for item in find_experiments(directory)}
    all_answers: dict[str, str] = {}
    for paper in PUBLICATIONS.values():
        own = [item for item in known.values() if paper_key(item.id) == paper.key]
        if not own:
            continue
        path = docs / f"{paper.key}.md"
        answers = find_answers(path.read_text(encoding="utf-8")) if path.exists() else {}
        answers |= {item.id: _answer(item, directory, pictures) for item in own if item.id in measured}
        with atomic_open(path) as file:
            file.write(page(paper, own, answers))
        all_answers |= answers
    with atomic_open(docs / "README.md") as file:
        file.write(contents(known.values(), all_answers))


if __name__ == "__main__":
    main(sys.argv[1:])

"""The list of jobs in Slurm's JSON documents, or the error that Slurm reports instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.errors import TraceError, format_value
from holdfast.workloads.ground.json_items import json_items

__all__ = ["jobs_of_document"]

#: Where a version says what went wrong, the plainest words first.
_WORDS = ("description", "error", "source")
_NUMBERS = ("error_number", "error_code", "errno")


def jobs_of_document(text: str, path: str | Path) -> Iterator[tuple[int, Any]]:
    """Each job of a document of ``sacct --json`` or ``squeue --json``, with its line.

    Raises
    ------
    TraceError
        If the text is no such document, or there is no job but an error, which is quoted.
    """
    count = 0
    try:
        for line, item in json_items(text, "jobs", path):
            count += 1
            yield line, item
    except TraceError as error:
        if count or error.line is not None:
            raise
        _refuse_error(text, path)
        raise
    if not count:
        _refuse_error(text, path)


def _refuse_error(text: str, path: str | Path) -> None:
    """Raise the first error that the document holds."""
    found = None
    with suppress(TraceError):
        found = next((item for _, item in json_items(text, "errors", path)), None)
    if found is not None:
        raise TraceError(path, None, f"holds no job but an error of Slurm: {_sentence(found)}") from None


def _sentence(item: Any) -> str:
    if not isinstance(item, dict):
        return format_value(item)
    words = [item[name] for name in _WORDS if isinstance(item.get(name), str) and item[name].strip()]
    numbers = [f"error {item[name]}" for name in _NUMBERS if type(item.get(name)) is int and item[name]]
    messages = words[:2] if len(words) > 1 and words[1] != words[0] else words[:1]
    if not messages:
        return ", ".join(numbers) or format_value(item)
    quoted = ": ".join(format_value(" ".join(word.split())) for word in messages)
    return f"{quoted} ({numbers[0]})" if numbers else quoted

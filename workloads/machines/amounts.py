"""Parsing of memory sizes and GPU counts, in Slurm's notation and others."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import is_number, is_whole

__all__ = ["ANY_GPU", "LARGEST_AMOUNT", "gpus_by_kind", "gres_gpus", "mebibytes", "memory_text"]

#: Name of the kind of GPUs without a model name.
ANY_GPU = "gpu"
#: Largest number of cores, MiB or GPUs of a node; as memory, one exabyte.
LARGEST_AMOUNT = 1 << 40
#: MiB of Slurm's units, which are powers of 1,024; a number alone counts MiB, as RealMemory does.
_UNITS = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_MEMORY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([KMGTP]?)(?:i?B)?", re.IGNORECASE)
_LEGAL_MEMORY = 'an amount of memory such as "187000M" or "1.5T" (a number alone counts MiB)'
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,63}", re.ASCII)


def mebibytes(raw: object, parameter: str = "memory", *, up: bool = False) -> int:
    """An amount of memory in MiB.

    Parameters
    ----------
    raw
        A number of MiB, or a text with one of the units K, M, G, T and P, which are powers of 1,024.
    parameter
        Name of the amount in messages.
    up
        Whether parts of a MiB are rounded up (for requests) instead of down (for nodes).

    Raises
    ------
    ParameterError
        If ``raw`` is not an amount of memory, or more than 2^40 MiB.

    Examples
    --------
    >>> mebibytes("1.5G"), mebibytes(1000), mebibytes("1000K"), mebibytes("1000K", up=True)
    (1536, 1000, 0, 1)
    """
    amount = math.nan
    if is_number(raw):
        amount = float(raw) if not abs(raw) > 1e300 else math.inf
    elif isinstance(raw, str):
        match = _MEMORY.fullmatch(raw.strip())
        if match is not None:
            amount = float(match[1]) * _UNITS[match[2].upper()]
    if not amount >= 0:
        raise ParameterError(parameter, _LEGAL_MEMORY, raw)
    if amount > LARGEST_AMOUNT:
        raise ParameterError(parameter, f"at most {LARGEST_AMOUNT:,} MiB", raw)
    return math.ceil(amount) if up else math.floor(amount)


def memory_text(amount: int) -> str:
    """Format an amount of memory [MiB] as the shortest exact text.

    >>> memory_text(1536), memory_text(2048), memory_text(2 * 1024 * 1024)
    ('1536M', '2G', '2T')
    """
    for unit, size in (("P", 1024**3), ("T", 1024**2), ("G", 1024)):
        if amount and amount % size == 0:
            return f"{amount // size}{unit}"
    return f"{amount}M"


def gpus_by_kind(raw: object, parameter: str = "gpus") -> dict[str, int]:
    """Number of GPUs by kind, from a number or a table such as ``{v100 = 2}``; kinds in lower case.

    Raises
    ------
    ParameterError
        If ``raw`` is neither.

    Examples
    --------
    >>> gpus_by_kind(2), gpus_by_kind({"V100": 2, "p4": 0}), gpus_by_kind(0)
    ({'gpu': 2}, {'v100': 2}, {})
    """
    table = {ANY_GPU: raw} if not isinstance(raw, Mapping) else raw
    found: dict[str, int] = {}
    for kind, count in table.items():
        name = str(kind).strip().lower()
        where = parameter if not isinstance(raw, Mapping) else f"{parameter}.{name[:60]}"
        if not _NAME.fullmatch(name):
            raise ParameterError(parameter, "a number, or a table of kinds such as {v100 = 2}", raw)
        if not is_whole(count, 0) or count > LARGEST_AMOUNT:
            raise ParameterError(where, f"a whole number from 0 to {LARGEST_AMOUNT:,}", count)
        if count:
            found[name] = found.get(name, 0) + count
    return found


def gres_gpus(text: str) -> dict[str, int]:
    """Number of GPUs by kind, from generic or trackable resources in Slurm's notation; other resources are skipped.

    Of a total such as ``gres/gpu=4``, only the GPUs that are not listed by kind in the same text are added.

    Examples
    --------
    >>> gres_gpus("gpu:a100:4(S:0-1),nvme:1"), gres_gpus("cpu=8,gres/gpu=4,gres/gpu:v100=4"), gres_gpus("gpu")
    ({'a100': 4}, {'v100': 4}, {'gpu': 1})
    """
    found: dict[str, int] = {}
    total = 0
    for word in re.sub(r"\([^)]*\)?", "", text).lower().split(","):
        pieces = re.split("[:=]", word.strip().removeprefix("gres/").removeprefix("gres:"))
        if pieces[0] != "gpu":
            continue
        kind, count = ANY_GPU, 1
        for piece in pieces[1:]:
            match = re.fullmatch(r"([0-9]{1,9})(k?)", piece)
            if match is None:
                kind = piece if _NAME.fullmatch(piece) else ANY_GPU
            else:
                count = int(match[1]) * (1024 if match[2] else 1)
        if "=" in word and kind == ANY_GPU:
            total += count
        else:
            found[kind] = found.get(kind, 0) + count
    if total > sum(found.values()):
        found[ANY_GPU] = total - sum(found.values())
    return {kind: count for kind, count in found.items() if count}

"""Mutations: what can be wrong with the bytes of a file, a line, a number or a JSON document."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

__all__ = ["HOSTILE", "NUMBERS", "mutant", "mutated_json", "mutated_word"]

#: Numbers that programs trip over.
NUMBERS = (
    *("0", "-1", "1", "-0", "0.5", "-0.0", "1e-9", "1e-320", "1e30", "-1e30", "1e308", "1e999", "nan", "-inf", "inf"),
    *("2147483648", "4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808", "9.3e12"),
    *("1" * 30, "-" + "9" * 30, "1" * 400, "7" * 5000, "1_000", "1,152", "0x10", "1e9", "1e12", "--5", "+3", "1.5.2"),
    *("١٢", "²", "½", "1e", ".", "-", "0e0", "00012", "1 2", "true", "None", "1e-7"),
)
#: Words that programs trip over.
HOSTILE = (
    *("", " ", "--", "-", "=", "a=", "=a", "a=b=c", "nan", "inf", "-inf", "0", "-1", "1e30", "1" * 30, "7" * 5000),
    *(
        "x" * 300,
        "x" * 5000,
        "ü" * 200,
        "\u202eabc",
        "\N{PILE OF POO}",
        "a\nb",
        "a\tb",
        "a\rb",
        "\x1b[31m",
        "$\\frac{$",
    ),
    *(
        "$x_{",
        "{}",
        "{0}",
        "%s",
        "%(a)s",
        "a:b",
        "evil:key",
        "os:nothing",
        ":",
        "a:",
        ":b",
        "..",
        "../..",
        "None",
        "[]",
    ),
    *("[" * 3000, "a,b", ",", ";", "1,2", "0:10", "10:0", "0:1000000000000", "1h30m", "1x", "5y", "-5m", "1e400y", "'"),
    *('"', "\\", "null", "true", "True", "2022-03-01T12:00", "9999-12-31T23:59", "0001-01-01", "W9", "all", "0.5", "1"),
)

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BREAKS = (b",", b"|", b";", b":", b" ", b"\t", b'"', b"'", b"\r\n", b"\n", b"=", b"{", b"[", b"-", b"#", b"\xa0")
_RUNS = (b"(", b"[", b"{", b'{"a":', b"[[", b'"', b"9", b"a", b",", b" ", b"\n", b"; Note: x\n", b"a.", b"\xff")


def _place(rng: Random, data: bytes) -> int:
    return rng.randrange(len(data) + 1)


def _flip(rng: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if changed:
            place = rng.randrange(len(changed))
            changed[place] = rng.choice((rng.randrange(256), changed[place] ^ (1 << rng.randrange(8))))
    return bytes(changed)


def _cut(rng: Random, data: bytes) -> bytes:
    begin = _place(rng, data)
    return data[:begin] + data[begin + rng.choice((1, 3, 20, len(data))) :]


def _insert(rng: Random, data: bytes) -> bytes:
    begin = _place(rng, data)
    what = rng.choice((*_BREAKS, b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1a", "\u2028".encode(), b"\x0b", b"\x85"))
    return data[:begin] + what + data[begin:]


def _repeat(rng: Random, data: bytes) -> bytes:
    begin = _place(rng, data)
    return data[:begin] + rng.choice(_RUNS) * rng.choice((2, 50, 1100, 5000)) + data[begin:]


def _number(rng: Random, data: bytes) -> bytes:
    found = list(_NUMBER.finditer(data))
    for match in sorted(rng.sample(found, min(len(found), rng.choice((1, 1, 1, 2, 4)))), key=lambda m: -m.start()):
        data = data[: match.start()] + rng.choice(NUMBERS).encode() + data[match.end() :]
    return data


def _near_number(rng: Random, data: bytes) -> bytes:
    """A number that is like the one that stood there: what breaks a law, not a parser."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    match = rng.choice(found)
    before = float(match[0])
    made = rng.choice(
        (before + 1, before - 1, -before, before * 2, before / 3, before * 1e3, before * 1e6, before + 0.1)
    )
    text = str(int(made)) if made.is_integer() and abs(made) < 1e18 else repr(made)
    return data[: match.start()] + text.encode() + data[match.end() :]


def _lines(rng: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    action = rng.randrange(6)
    if action == 0:
        lines.insert(place, lines[rng.randrange(len(lines))])
    elif action == 1:
        del lines[place]
    elif action == 2:
        lines[place] = lines[place][: rng.randrange(len(lines[place]) + 1)]
    elif action == 3:
        other = rng.randrange(len(lines))
        lines[place], lines[other] = lines[other], lines[place]
    elif action == 4:
        lines[place] = lines[place] + lines[rng.randrange(len(lines))]
    else:
        lines = lines[:place]
    return b"\n".join(lines)


def _fields(rng: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    mark = next((mark for mark in (b",", b"|", b"=", b" ") if mark in lines[place]), b" ")
    cells = lines[place].split(mark)
    cell = rng.randrange(len(cells))
    action = rng.randrange(5)
    if action == 0:
        other = rng.randrange(len(cells))
        cells[cell], cells[other] = cells[other], cells[cell]
    elif action == 1:
        del cells[cell]
    elif action == 2:
        cells.insert(cell, cells[rng.randrange(len(cells))])
    elif action == 3:
        cells[cell] = b""
    else:
        cells[cell] = rng.choice((*HOSTILE, *NUMBERS)).encode("utf-8", "surrogatepass")
    lines[place] = mark.join(cells)
    return b"\n".join(lines)


def _whole(rng: Random, data: bytes) -> bytes:
    """The whole file as something else."""
    action = rng.randrange(12)
    if action == 0:
        return data.replace(b",", b";").replace(b"|", b",")
    if action == 1:
        return data.decode("utf-8", "replace").encode("utf-16")
    if action == 2:
        return gzip.compress(data, 1, mtime=0)
    if action == 3:
        return gzip.compress(data, 1, mtime=0)[: rng.choice((2, 12, -3))]
    if action == 4:
        return data.replace(b"\n", b"\r\n")
    if action == 5:
        return data.replace(b"\n", b"\r")
    if action == 6:
        return data + data
    if action == 7:
        return rng.choice((b"", b"\n", b"\0", b" ", b"PK\x03\x04", b"PAR1", b"BZh9", b"[]", b"{}", b"null", b"\xff"))
    if action == 8:
        return b"\xef\xbb\xbf" + data
    if action == 9:
        return data.upper()
    if action == 10:
        return bytes(rng.randrange(256) for _ in range(200))
    return gzip.compress(gzip.compress(data, 1, mtime=0), 1, mtime=0)


_MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    *(_number, _number, _number, _near_number, _near_number, _near_number, _fields, _fields, _lines, _lines),
    *(_flip, _cut, _insert, _repeat, _whole),
)


def mutant(rng: Random, data: bytes) -> bytes:
    """The bytes with one mutation, or a few."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(_MUTATIONS)(rng, data)
    return data


def mutated_word(rng: Random, word: str) -> str:
    """A word of the command line, or a cell, with something wrong in it; never with a NUL, which no shell passes on."""
    made = _number(rng, word.encode()) if rng.random() < 0.5 else mutant(rng, word.encode())
    return made.decode("utf-8", "replace").replace("\0", "")[:6000]


def _value(rng: Random) -> Any:
    # Objects are made here, not above, so that no case sees what another has done to one.
    nested: Any = []
    for _ in range(60):
        nested = [nested]
    return rng.choice(
        (
            *(
                None,
                True,
                False,
                0,
                -1,
                1,
                0.5,
                -0.5,
                1e30,
                -1e30,
                1e308,
                float("nan"),
                float("inf"),
                10**30,
                2**63,
                1e-320,
            ),
            *("", "x", "1", "nan", "x" * 300, "../x", "/etc/passwd", "evil:key", "$\\frac{$", [], {}, [[]], [1, "a"]),
            *({"a": 1}, nested, 1e12, 1000000, 3),
        )
    )


def mutated_json(rng: Random, data: bytes) -> bytes:
    """A JSON document with one node, or a few, replaced, removed, renamed, doubled or moved."""
    try:
        box = [json.loads(data)]
    except ValueError:
        return mutant(rng, data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holder: Any = box
        key: Any = 0
        while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.85:
            holder = holder[key]
            key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
        action = 0 if holder is box else rng.randrange(7)
        number = isinstance(holder[key], int | float) and not isinstance(holder[key], bool)
        if action == 3:
            del holder[key]
        elif action == 4 and isinstance(holder, dict):
            holder[rng.choice(("x", "", f"{key}s", "__class__"))] = holder.pop(key)
        elif action == 4:
            holder.insert(key, holder[key])
        elif action == 5:
            holder[key] = [holder[key]]
        elif action == 6 and number:
            holder[key] = rng.choice((holder[key] + 1, -holder[key], holder[key] * 1e3, holder[key] / 3))
        else:
            holder[key] = _value(rng)
    return json.dumps(box[0], indent=2).encode()

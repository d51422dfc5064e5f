"""Cases: what is called, with which files; one for each reader, seed and index."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from random import Random

from holdfast.experiments import cli
from holdfast.experiments.exports import EXPORTS
from holdfast.workloads.logs.readers import READERS as FORMATS
from tests.fuzz import seeds
from tests.fuzz.mutations import HOSTILE, NUMBERS, mutant, mutated_json, mutated_word
from tests.fuzz.seeds import NODES
from tests.support.seals import remove_seal, sealed_again

__all__ = ["READERS", "Case", "case"]


@dataclass(frozen=True)
class Case:
    """One input of the fuzzer.

    Attributes
    ----------
    words
        Of the command line.
    files
        By their path in the current directory.
    then
        Words of a second call, which follows where the first has succeeded.
    """

    words: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    then: tuple[str, ...] = ()


_MECHANISMS = ("baseline", "N&PAA", "N&SPAA", "CUA&PAA", "CUA&SPAA", "CUP&PAA", "CUP&SPAA")


_WHERE = (
    "partition=batch",
    "user!=u1,U0",
    "state=completed",
    "queue=1",
    "project=a1",
    "NodeList=x",
    "qos=",
    "job_id=287_1",
    "type=rigid",
)


#: Mappings of a table with named columns, whole and broken.
_COLUMNS = (
    "pm100",
    "f-data",
    "submit=submit_time,nodes=num_nodes_alloc,start=start_time,end=end_time,walltime=time_limit:min",
    "submit=submit_time:ms,processors=num_cores_alloc,runtime=time_limit:d,id=user_id,state=job_state",
    "submit=submit_time,nodes=,runtime=time_limit",
    "submit=q,nodes=n:h",
)


def _columns(rng: Random) -> Case:
    """A table with named columns, mapped in most cases."""
    data = mutant(rng, seeds.columns())
    mapping = ("--columns", rng.choice(_COLUMNS)) if rng.random() < 0.7 else ()
    own = _trace("a.csv", lambda _: data, "16")(rng)
    return Case((*own.words, *mapping), own.files)


def _trace(name: str, data: Callable[[Random], bytes], nodes: str) -> Callable[[Random], Case]:
    def make(rng: Random) -> Case:
        reading = (
            name,
            *(("--nodes", nodes) if rng.random() < 0.5 else ()),
            *(("--lenient",) if rng.random() < 0.4 else ()),
            *(("--where", rng.choice(_WHERE)) if rng.random() < 0.2 else ()),
            *(("--unit", rng.choice(("nodes", "cores"))) if rng.random() < 0.1 else ()),
        )
        kind = rng.random()
        if kind < 0.7:
            words: tuple[str, ...] = ("info", *reading)
        elif kind < 0.8:
            words = ("prepare", *reading, "-o", "out.csv")
        elif kind < 0.85:
            words = (
                "prepare",
                *reading,
                "-o",
                "out.csv",
                "--dependencies",
                "--cancelled",
                "keep",
                "--starting-state",
                "1h",
            )
        elif kind < 0.9:
            words = ("fit-costs", *reading, "-o", "out.json")
        else:
            words = ("run", *reading, "-o", "out", "--mechanism", rng.choice(_MECHANISMS))
        return Case(words, {name: data(rng)})

    return make


def _alea(rng: Random) -> Case:
    """A log of Alea with the file of its machine, one of both mutated."""
    own = _trace("a.swf", lambda _: seeds.alea(), "64")(rng)
    log, machines = seeds.alea(), seeds.MACHINES
    if rng.random() < 0.5:
        log = mutant(rng, log)
    else:
        machines = mutant(rng, machines)
    return Case(own.words, {"a.swf": log, "a.swf.machines": machines})


def _sacct(rng: Random) -> bytes:
    kind = rng.random()
    if kind < 0.05:
        return _json(rng, seeds.slurm_error())
    if kind < 0.3:
        return _json(rng, seeds.json_sacct())
    if kind > 0.85:
        return mutant(rng, seeds.sacct_texts())
    data = seeds.sacct() if kind < 0.6 else seeds.aligned_sacct()
    if kind < 0.4:
        data = data.replace(b"|", rng.choice((b",", b";", b"\t", b"::", b" | ")))
    return mutant(rng, data)


def _queue(rng: Random) -> Case:
    data = _json(rng, seeds.json_squeue()) if rng.random() < 0.5 else mutant(rng, seeds.squeue())
    if rng.random() < 0.05:
        data = _json(rng, seeds.slurm_error())
    words = ("forecast", "a.txt", "--queue", "q.txt", "--machine", "40", "--draws", "1", "--workers", "1")
    if rng.random() < 0.2:
        words = (*words, "--job", mutated_word(rng, "2003_1") if rng.random() < 0.5 else "2003_1")
    return Case((*words, "--arrivals", rng.choice(("none", "weeks"))), {"a.txt": seeds.sacct(), "q.txt": data})


def _job_table(rng: Random) -> Case:
    words = ("run", "table.csv", "-o", "out", "--nodes", str(NODES), "--mechanism", rng.choice(_MECHANISMS))
    return Case(words, {"table.csv": mutant(rng, seeds.files_of("table")["table.csv"])})


def _parquet(rng: Random) -> Case:
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = seeds.files_of("table")["table.parquet"]
    if rng.random() < 0.3:
        data = mutant(rng, data)
    else:
        columns = pq.read_table(io.BytesIO(data)).to_pydict()
        for _ in range(rng.choice((1, 1, 2))):
            name = rng.choice(list(columns))
            cells = columns[name]
            number = rng.choice((0, -1, 1e30, float("nan"), float("inf"), 2**62, 0.5, 1e300, True))
            other = rng.choice((None, number, str(number), rng.choice(HOSTILE)[:50], b"\xff", [1], {"a": 1}))
            if rng.random() < 0.5:
                columns[name] = [other] * len(cells)
            else:
                columns[name] = [other if rng.random() < 0.3 else cell for cell in cells]
        try:
            file = io.BytesIO()
            pq.write_table(pa.table(columns), file)
            data = file.getvalue()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):  # a column of several kinds
            data = mutant(rng, data)
    words = ("run", "table.parquet", "-o", "out", "--nodes", str(NODES), "--mechanism", rng.choice(_MECHANISMS))
    return Case(words, {"table.parquet": data})


def _outages(rng: Random) -> Case:
    if rng.random() < 0.3:
        words = ("run", "a.txt", "-o", "out", "--nodes", str(NODES), "--outages", "outages.csv")
        dated = {"a.txt": seeds.sacct(), "outages.csv": mutant(rng, seeds.DATED_OUTAGES)}
        return Case((*words, "--mechanism", rng.choice(_MECHANISMS)), dated)
    files = seeds.files_of("table")
    words = ("run", "table.csv", "-o", "out", "--nodes", str(NODES), "--outages", "outages.csv")
    return Case(
        (*words, "--mechanism", rng.choice(_MECHANISMS)),
        {"table.csv": files["table.csv"], "outages.csv": mutant(rng, files["outages.csv"])},
    )


def _json(rng: Random, data: bytes) -> bytes:
    return mutated_json(rng, data) if rng.random() < 0.7 else mutant(rng, data)


def _document(rng: Random, data: bytes) -> bytes:
    """A changed plan or costs: most have no digest, or a new one, so that it hides nothing."""
    kind = rng.random()
    if kind < 0.2:
        return _json(rng, data)
    changed = _json(rng, remove_seal(data.decode()).encode())
    if kind < 0.5:
        with suppress(ValueError, AttributeError, RecursionError):
            return sealed_again(changed.decode()).encode()
    return changed


def _costs(rng: Random) -> Case:
    files = {"costs.json": _document(rng, seeds.files_of("costs")["costs.json"])}
    if rng.random() < 0.7:
        sized = ("--nodes", rng.choice(("1", "8", "9", "1000"))) if rng.random() < 0.6 else ()
        return Case(("plan", "exponential", "--mean", "1h", "--n", "12", "--costs", "costs.json", *sized), files)
    files["table.csv"] = seeds.files_of("table")["table.csv"]
    words = ("run", "table.csv", "-o", "out", "--nodes", str(NODES), "--mechanism", "baseline", "--known-runs", "1")
    return Case((*words, "--costs", "costs.json"), files)


def _plan(rng: Random) -> Case:
    files = {"plan.json": _document(rng, seeds.files_of("plan")["plan.json"])}
    if rng.random() < 0.5:
        files["table.csv"] = seeds.files_of("table")["table.csv"].replace(b",optimal,", b",plan.json,")
        return Case(("run", "table.csv", "-o", "out", "--nodes", str(NODES), "--mechanism", "baseline"), files)
    files |= seeds.files_of("trace")
    words = ("prepare", "a.swf", "-o", "out.csv", "--stochastic-share", "1", "--plan", "plan.json")
    return Case(words, files)


def _runs(rng: Random) -> Case:
    fit = rng.choice(("discrete", "polynomial", "discrete", "polynomial", "kernel"))
    if rng.random() < 0.3:
        text = b"name,runtime\n" + b"".join(b"a,%s\n" % line for line in seeds.RUNS.splitlines()[1:])
        words = (
            "plan",
            "--runs",
            "runs.csv",
            "--column",
            rng.choice(("runtime", "runtime", "name", "x")),
            "--fit",
            fit,
        )
        return Case((*words, "--n", "12"), {"runs.csv": mutant(rng, text)})
    return Case(("plan", "--runs", "runs.txt", "--fit", fit, "--n", "12"), {"runs.txt": mutant(rng, seeds.RUNS)})


def _usual(rng: Random) -> Case:
    """Fits of all the usual families take seconds."""
    return Case(("plan", "--runs", "runs.txt", "--fit", "usual", "--n", "12"), {"runs.txt": mutant(rng, seeds.RUNS)})


def _sweep(rng: Random) -> Case:
    data = rng.choice(seeds.SWEEPS)
    setting: tuple[str, ...] = ()
    kind = rng.random()
    if kind < 0.75:
        data = mutant(rng, data)
    elif kind < 0.9:
        key = rng.choice(
            ("workload.seeds", "workload.jobs", "options.order", "mechanisms", "assignment.shares", "a.b", "vary")
        )
        setting = ("--set", mutated_word(rng, f"{key}={rng.choice((*NUMBERS, *HOSTILE))}"))
    else:
        table, _, rest = data.partition(b"\n[")
        key = rng.choice((b"workload.traces", b"options.x", b"mechanisms", b"assignment"))
        depth = rng.choice((30, 300, 3000))
        data = (
            table + b"\n" + rng.choice((b"%s = %s", b"%s.x = %s")) % (key, b"[" * depth + b"]" * depth) + b"\n[" + rest
        )
    files = {"s.toml": data, **seeds.files_of("trace")}
    words = ("sweep", "s.toml", "-o", "out", *setting)
    then = (*words, "--workers", "1") if not setting and _is_small(data) else ()
    return Case((*words, "--dry-run"), files, then)


def _is_small(data: bytes) -> bool:
    """Whether a sweep asks for little: large ones are no fault."""
    try:
        document = tomllib.loads(data.decode())
        workload = document["workload"]
        few = {"0:2", "0:1", 0, 1, None}
        some = all(
            len(value) <= 4
            for group in document.values()
            if isinstance(group, dict)
            for value in group.values()
            if isinstance(value, list)
        )
        return (
            workload.get("seeds") in few and workload.get("jobs", 0 if "traces" in workload else 37298) <= 100 and some
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _results_files(rng: Random) -> dict[str, bytes]:
    files = dict(seeds.results())
    name = rng.choice(
        [name for name in files if name.startswith("r/")] + ["r/run.json"] * 5 + ["r/jobs-CUA-SPAA.csv"] * 2
    )
    before = files[name]
    files[name] = _json(rng, before) if name.endswith(".json") else mutant(rng, before)
    if rng.random() < 0.1:
        del files[name]
    elif rng.random() < 0.75:
        # With the digests of what it is now: they keep out accidents, not what somebody has made on purpose.
        old, new = (hashlib.sha256(data).hexdigest().encode() for data in (before, files[name]))
        files["r/run.json"] = _seal(files["r/run.json"].replace(old, new))
    return files


#: How a manifest ends, with the digest of all its bytes but these digits.
_SEAL = re.compile(rb'"digest": "[0-9a-f]{64}"\n}\n?\Z')


def _seal(manifest: bytes) -> bytes:
    found = _SEAL.search(manifest)
    if found is None:
        return manifest
    body = manifest[: found.start()]
    digest = hashlib.sha256(body + b'"digest": ""\n}\n').hexdigest()
    return body + f'"digest": "{digest}"\n}}\n'.encode()


def _results(rng: Random) -> Case:
    mechanism = rng.choice(("CUA-SPAA", "CUA-SPAA", "baseline"))
    words = rng.choice(
        (
            ("explain", "r", rng.choice("12345678"), "--mechanism", mechanism),
            ("explain", "r", "--worst", "3", "--json", "-", "--mechanism", mechanism),
            ("export", "r", "-o", "x.swf", "--mechanism", mechanism),
            ("export", "r", "-o", "x.json", "--format", "perfetto", "--mechanism", mechanism),
            ("export", "r", "-o", "x.csv", "--format", "batsim", "--mechanism", mechanism),
            ("export", "r", "-o", "x", "--format", "parquet", "--mechanism", mechanism),
            ("gantt", "r", "-o", "x.html", "--mechanism", mechanism),
            ("fit-costs", "r", "-o", "x.json", "--mechanism", mechanism),
            ("compare", "r:baseline", "r:CUA-SPAA", "--by", rng.choice(("user", "size", "week"))),
        )
    )
    return Case(words, _results_files(rng))


def _pictures(rng: Random) -> Case:
    if rng.random() < 0.3:
        name = (
            rng.choice(("$\\frac{$", "$x_{", "\\alpha^{", "a_b^c", "%", "#", "\N{PILE OF POO}", "ü" * 100, "x" * 250))
            + ".txt"
        )
        if rng.random() < 0.5:
            return Case(("plan", "--runs", name, "--n", "8", "--fit", "discrete", "--plot", "p"), {name: seeds.RUNS})
        return Case(("info", name, "--plot", "p"), {name: seeds.files_of("trace")["a.swf"]})
    kind = rng.choice(("gantt", "use", "queue", "on-demand", "waits"))
    words = rng.choice((("picture", kind, "r", "-o", "p", "--mechanism", "CUA-SPAA"), ("plot", "r")))
    return Case(words, _results_files(rng))


def _site(rng: Random) -> Case:
    """A site's configuration."""
    names = rng.choice((("slurm.conf",), ("slurm.conf", "shown.txt"), ("shown.txt",)))
    json = rng.choice(((), ("--json", "-"), ("--json", "out.json")))
    files = {name: mutant(rng, seeds.SITE[name]) for name in names}
    return Case(("slurm", "options", *names, *json), files)


#: Words in place of a parameter of an archived experiment.
_PARAMETERS = (
    10**400,
    -1,
    0,
    1e308,
    "evil:x",
    "/etc/shadow",
    "../a",
    "x" * 300,
    [],
    [[1]],
    {},
    None,
    True,
    ["a"] * 999,
)


def _archive(rng: Random) -> Case:
    """An archive of an experiment with bytes changed, or with other parameters and sealed again; none is measured."""
    whole = seeds.archive()
    if rng.random() < 0.4:
        data = mutant(rng, whole)
    else:
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            members = {item.filename: archive.read(item) for item in archive.infolist()}
        name = rng.choice([name for name in members if name.startswith("profiles")])
        if name.endswith(".json"):
            document = json.loads(members[name])
            place = rng.choice((document, document["parameters"]))
            place[rng.choice(list(place))] = rng.choice(_PARAMETERS)
            text = json.dumps(document, indent=2) + "\n"
            members[name] = _seal(text.encode())
        else:
            members[name] = mutant(rng, members[name])
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        data = file.getvalue()
    files = {"a.zip": data}
    if rng.random() < 0.5:
        return Case(("verify", "a.zip"), files)
    return Case(("reproduce", "--check", "a.zip", "-o", "out", "--only", "none-*"), files)


def _verify(rng: Random) -> Case:
    """Results, plans and costs with changes, looked at by their digests alone."""
    files = dict(_results_files(rng))
    files["plan.json"] = _document(rng, seeds.files_of("plan")["plan.json"])
    files["costs.json"] = _document(rng, seeds.files_of("costs")["costs.json"])
    name = rng.choice(("r", "plan.json", "costs.json", "r/run.json", "r/summary.csv", "table.csv", "."))
    return Case(("verify", name), files)


def _tasks(rng: Random) -> Case:
    name = rng.choice(("tasks", "makespans"))
    files = {f"{name}.csv": mutant(rng, seeds.TASKS[f"{name}.csv"])}
    experiment = {"tasks": "profiles-table2", "makespans": "profiles-fig1"}[name]
    return Case(("experiment", experiment, "--quick", "-o", "out", "--set", f"{name}={name}.csv"), files)


def _stream_case(rng: Random) -> Case:
    """A log that is read while it is replayed; a byte of it is often no text."""
    data = mutant(rng, seeds.files_of("trace")["a.swf"])
    if rng.random() < 0.4:
        place = rng.randrange(len(data) + 1)
        data = data[:place] + rng.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00")) + data[place:]
    return Case(("run", "a.swf", "-o", "out", "--stream", "--nodes", "4392"), {"a.swf": data})


def _network(rng: Random) -> Case:
    """A network of which the archive, or the header of an array, says what is not so."""
    data = seeds.network()
    kind = rng.random()
    if kind < 0.3:
        data = mutant(rng, data)
    else:
        held = dict(seeds.arrays())
        name = rng.choice(list(held))
        before = held[name]
        shape, size = rng.choice(("(1000000000000,)", "(4, -1)", "()", "(3,)", "(4, 6)", "(99999999,99999999)")), b""
        if kind < 0.7:
            held[name] = re.sub(rb"'shape': \([^)]*\)", f"'shape': {shape}".encode(), before)
        elif kind < 0.85:
            kinds = (b"'<f8'", b"'|O'", b"'<c16'", b"'<U999999999'", b"'<i8'", b"'<M8[s]'", b"[('a', '<f8')]")
            held[name] = re.sub(rb"'descr': '[^']*'", b"'descr': " + rng.choice(kinds), before)
        else:
            held[name] = mutant(rng, before) + size
        data = seeds.zip_archive(held)
    return Case(
        ("run", "table.csv", "-o", "out", "--nodes", str(NODES), "--order", "learned model=m.npz"),
        {"m.npz": data, "table.csv": seeds.files_of("table")["table.csv"]},
    )


#: Plug-ins of Python itself and of Holdfast, each of some kind.
_PATHS = (
    *("os:system", "os:getcwd", "os:listdir", "os:path", "os:environ", "builtins:print", "builtins:int", "json:dumps"),
    *(
        "math:pi",
        "math:log",
        "sys:stdout",
        "holdfast.policies.port:Start",
        "holdfast.policies.order:ORDERS",
        "holdfast.policies.order:Order",
    ),
    *(
        "holdfast.policies.backfilling:Easy",
        "holdfast.policies.expansion:Grow",
        "holdfast.policies.arrival:PreemptAtArrival",
    ),
    *("holdfast.policies.orders.fairshare:FairShare", "holdfast.policies.notice:Weigh", "no.module:x", "os:"),
)
_TUNED = {
    "--order": (
        *("wfp3 exponent", "fairshare half_life", "fairshare patience", "alcf fifo_factor", "alcf wfp_factor"),
        *("alcf shortest", "alcf longest", "alcf backfill_factor", "alcf backfill_max", "multifactor age"),
        *(
            "multifactor half_life",
            "multifactor max_age",
            "multifactor accounts",
            "multifactor qos",
            "multifactor small",
        ),
    ),
    "--backfilling": ("easy depth", "slurm depth", "slurm most", "slurm lag", "slurm precision", "slurm resolution"),
    "--expansion": ("greedy share", "even share"),
    "--tenants": ("any x",),
}
_WILD = (
    "1e308",
    "-1e308",
    "1e-308",
    "5e-324",
    "1e100",
    "1e15",
    "1e12",
    "1e9",
    "0",
    "-1",
    "0.5",
    "7",
    "nan",
    "inf",
    "x",
)


def _plugin(rng: Random) -> Case:
    """Plug-ins of the wrong kind, and parameters with which scores overflow."""
    words = ["run", "table.csv", "-o", "out", "--nodes", str(NODES)]
    if rng.random() < 0.15:
        name = rng.choice(("maximum factor", "masi factor", "masi k", "optimal n", "all-ckpt-periodic tau"))
        value = rng.choice((*_WILD, *NUMBERS))
        return Case(("plan", "exponential", "--mean", "1h", "--checkpoint", "60", "--strategy", f"{name}={value}"), {})
    if rng.random() < 0.1:
        rate = ("--failure-mtbf", rng.choice(("1h", "1s", "1000h")), "--repair", rng.choice(("1s", "1h")))
        words += [*rate, "--repair-variation", rng.choice((*_WILD, *NUMBERS)), "--mechanism", "baseline"]
    elif rng.random() < 0.5:
        option = rng.choice((*_TUNED, "--mechanism"))
        value = rng.choice(_PATHS)
        words += [option, rng.choice((f"{value}-PAA", f"N-{value}")) if option == "--mechanism" else value]
    elif rng.random() < 0.2:
        words += ["--mechanism", f"WEIGH price={rng.choice((*_WILD, *NUMBERS))}-PAA"]
    else:
        option = rng.choice(tuple(_TUNED))
        words += [option, f"{rng.choice(_TUNED[option])}={rng.choice((*_WILD, *NUMBERS))}"]
    return Case(tuple(words), {"table.csv": seeds.files_of("table")["table.csv"]})


def _status(rng: Random) -> Case:
    """A directory of 'holdfast submit', with what its scripts have recorded."""
    files = dict(seeds.sequence())
    name = rng.choice((*[name for name in files if not name.endswith(".sh")], "s/sequence.json"))
    files[name] = _json(rng, files[name]) if name.endswith(".json") else mutant(rng, files[name])
    words = ("status", "s", "--sacct", "sacct.txt")
    return Case((*words, "--json", "-") if rng.random() < 0.3 else words, files)


# Options.

#: Words with which each command succeeds quickly. What starts many processes or measures for minutes is not here.
_BASE: Mapping[str, tuple[str, ...]] = {
    "generate": ("-o", "out.swf", "--jobs", "6"),
    "info": ("a.swf",),
    "prepare": ("a.swf", "-o", "out.csv"),
    "run": ("table.csv", "-o", "out", "--nodes", str(NODES), "--mechanism", "CUP&SPAA"),
    "explain": ("r", "1", "--mechanism", "baseline"),
    "export": ("r", "-o", "x.swf", "--mechanism", "baseline"),
    "forecast": ("r", "--mechanism", "baseline", "--at", "20m", "--draws", "1", "--workers", "1", "--least", "1"),
    "gantt": ("r", "-o", "x.html", "--mechanism", "baseline"),
    "compare": ("r:baseline", "r:CUA-SPAA"),
    "verify": ("r",),
    "policies": ("--kind", "order"),
    "completion": ("bash",),
    # One worker: without --dry-run, which a mutation may take away, others would be left behind.
    "sweep": ("s.toml", "-o", "out", "--workers", "1", "--dry-run"),
    "fit-costs": ("r", "-o", "x.json", "--mechanism", "baseline"),
    "calibrate": ("a.swf", "-o", "x.json", "--workers", "1"),
    "plan": ("exponential", "--mean", "1h", "--n", "12"),
    "loop": ("table.csv", "-o", "out", "--nodes", str(NODES), "--rounds", "2"),
    "experiment": (),
    "reproduce": ("--only", "nothing-*"),
    "picture": ("none", "r", "-o", "p"),
    "plot": ("r", "no-experiment"),
    "marginals": ("none.swf", "-o", "out"),
    # Whatever one mutation takes away, no year is simulated.
    "demo": ("-o", "out", "--no-such-option", "--nor-this"),
}
#: Options that say where to write: names that stay in the current directory.
_WRITING = frozenset({"--output", "--json", "--plot"})
_PLACES = (
    "",
    "-",
    "--",
    "x" * 300,
    "ü" * 200,
    "a\nb",
    "$\\frac{$",
    "no/such/out.csv",
    ".",
    "r",
    "out.csv",
    "out.parquet",
    "x.gz",
    "a b",
)
#: Options that start processes, run code or reach out of this machine, or that make a picture, which takes a second.
_NEVER = frozenset(
    {
        "--workers",
        "--scheduler",
        "--cluster",
        "--backend",
        "--data",
        "--plot",
        "--fresh",
        "--help",
        "--draws",
        "--trust",
    }
)
_PLAUSIBLE: Mapping[str, tuple[str, ...]] = {
    "--mechanism": (*_MECHANISMS, "all"),
    "--order": ("sjf", "wfp3", "fairshare", "priority", "easy", "fcfs,sjf", "fcfs,"),
    "--backfilling": ("conservative", "none", "easy depth=2", "slack", "easy,conservative"),
    "--seed": ("3", "0:2", "1,2", "2:1"),
    "--nodes": ("16", "16,20", "+1", "1_6"),
    "--job": ("3", "287_1", "287+0", "1_6_2"),
    "--at": ("1h", "2022-03-01", "2022-03-01T12:00+01:00", "12:00"),
    "--starting-state": ("1h", "2022-03-01", "2022-03-01T12:00Z", "1_0"),
    "--until": ("1h", "2022-03-01", "9999-12-31"),
    "--against": ("order=fcfs", "fcfs", "mechanism=baseline", "=", "seed=0"),
    "--metrics": ("wait_h", "wait_h,utilization", "wait"),
    "--by": ("user", "project", "size", "type", "week", "day", "partition", "qos", "account"),
    "--strategy": ("mean-by-mean", "median-by-median", "doubling", "optimal", "all-checkpoint", "periodic"),
    "--fit": ("discrete", "kernel", "polynomial"),
    "--columns": _COLUMNS,
    "--format": (*FORMATS, *EXPORTS),
    "--where": _WHERE,
    "--unit": ("nodes", "processors", "cores"),
    "--shares": ("0.5,0.3,0.2", "1,0,0"),
    "--notice-mix": ("W1", "0.4,0.3,0.2,0.1"),
    "--notice-lead": ("1m,1h", "0,0"),
    "--grid": ("equal-time", "equal-probability", "cubic"),
    "--group-by": ("user", "project", "campaign"),
    "--tenants": ("any", "fits", "none"),
    "--expansion": ("greedy", "even"),
    "--passes": ("event", "instant"),
    "--outages": ("outages.csv",),
    "--costs": ("costs.json",),
    "--runs": ("runs.txt",),
    "--plan": ("optimal", "plan.json", "median-by-median"),
}
_DISTRIBUTIONS = (
    "exponential",
    "weibull",
    "gamma",
    "lognormal",
    "truncated-normal",
    "pareto",
    "uniform",
    "beta",
    "bounded-pareto",
)


@cache
def _options(command: str) -> tuple[tuple[str, bool], ...]:
    """Long names of the options of a command, and whether a value follows."""
    parser = cli._parser(command)
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    found = [
        (action.option_strings[-1], action.nargs != 0)
        for action in commands.choices[command]._actions
        if action.option_strings
    ]
    return tuple((name, valued) for name, valued in found if name not in _NEVER)


def _option_files() -> dict[str, bytes]:
    made = (
        seeds.files_of("table")
        | seeds.files_of("trace")
        | seeds.files_of("plan")
        | seeds.files_of("costs")
        | seeds.results()
    )
    return {**made, "s.toml": seeds.SWEEPS[0], "runs.txt": seeds.RUNS}


def _option_case(rng: Random) -> Case:
    command = rng.choice((*_BASE, "run", "run", "plan", "plan", "prepare"))
    words = list(_BASE[command])
    if command == "plan" and rng.random() < 0.6:
        words[0] = rng.choice(_DISTRIBUTIONS)
        words[1:3] = []
        for name in rng.sample(
            ("--mean", "--std", "--min", "--max", "--scale", "--shape", "--shape2", "--mu", "--sigma"), 2
        ):
            words += [name, rng.choice(("1", "2", "0.5", "3h", rng.choice(NUMBERS)))]
    for _ in range(rng.choice((1, 1, 2, 3))):
        if not _options(command):
            break
        name, valued = rng.choice(_options(command))
        if not valued:
            words.append(name)
            continue
        value = rng.choice((*NUMBERS, *HOSTILE))
        if name in _WRITING:
            value = rng.choice(_PLACES)
        elif rng.random() < 0.25:
            value = rng.choice(_PLAUSIBLE.get(name, ("1", "2h", "0.5", "10")))
            value = mutated_word(rng, value) if rng.random() < 0.3 else value
        words += [f"{name}={value}"] if rng.random() < 0.4 else [name, value]
    if rng.random() < 0.15 and words:
        place = rng.randrange(len(words))
        if words[place - 1] not in ("-o", "--jobs") and not words[place].startswith("-o"):
            words[place] = mutated_word(rng, words[place]).replace("/", "_")
    if rng.random() < 0.05 and words:
        del words[rng.randrange(len(words))]
    return Case((command, *words), _files_for(command, words))


def _files_for(command: str, words: list[str]) -> dict[str, bytes]:
    """The files that these words may name: writing all that options may name takes longer than a case."""
    text = " ".join(words)
    return {
        name: data for name, data in _option_files().items() if name in text or (name.startswith("r/") and "r" in words)
    }


def _examples(name: str) -> Callable[[Random], Case]:
    return _trace("a", lambda rng: mutant(rng, FORMATS[name].example.encode()), "4392")


#: The readers, each with its share of a long search; what takes long has a small one. A format without a case of its
#: own has its example.
READERS: Mapping[str, tuple[float, Callable[[Random], Case]]] = {
    **{name: (5, _examples(name)) for name in FORMATS},
    "swf": (18, _trace("a.swf", lambda rng: mutant(rng, seeds.files_of("trace")["a.swf"]), "4392")),
    "alea": (4, _alea),
    "alcf": (12, _trace("a.csv", lambda rng: mutant(rng, seeds.alcf()), "4392")),
    "columns": (10, _columns),
    "sacct": (14, _trace("a.txt", _sacct, "16")),
    "queue": (6, _queue),
    "job-table": (12, _job_table),
    "parquet": (3, _parquet),
    "outages": (6, _outages),
    "costs": (5, _costs),
    "plan": (5, _plan),
    "sweep": (6, _sweep),
    "runs": (5, _runs),
    "site": (4, _site),
    "results": (7, _results),
    "archive": (4, _archive),
    "verify": (4, _verify),
    "streamed": (5, _stream_case),
    "network": (3, _network),
    "plug-ins": (5, _plugin),
    "status": (4, _status),
    "options": (14, _option_case),
    "usual": (0.02, _usual),
    "pictures": (0.05, _pictures),
    "tasks": (0.05, _tasks),
}


def case(reader: str, seed: int, index: int) -> Case:
    """The case of a reader with this number; the same for the same seed."""
    return READERS[reader][1](Random(f"{reader} {seed} {index}"))

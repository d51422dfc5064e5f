"""The forms of an sacct export: the same jobs aligned, separated, and as JSON read to the same trace."""

import json

import pytest

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.files import decode_text
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.sacct import looks_like_sacct, parse_sacct
from tests.shared_data import shared_file

NAMES = (
    *("JobID", "JobIDRaw", "JobName", "User", "Account", "Partition", "QOS", "State", "Submit", "Start", "End"),
    *("ElapsedRaw", "TimelimitRaw", "NNodes", "NCPUS"),
)
GONE = ("CANCELLED by 1000", 300, "Unknown", 900, 0)


def row(job_id, state="COMPLETED", submit=0, start=100, end=3700, elapsed=None, limit="120", nodes=4, **changes):
    begun = isinstance(start, int)
    cells = {
        "JobID": str(job_id),
        "JobIDRaw": str(job_id).split("_")[0].split("+")[0],
        "JobName": "sim",
        "User": "ada",
        "Account": "physics",
        "Partition": "batch",
        "QOS": "normal",
        "State": state,
        "Submit": str(1_700_000_000 + submit),
        "Start": str(1_700_000_000 + start) if begun else start,
        "End": str(1_700_000_000 + end) if isinstance(end, int) else end,
        "ElapsedRaw": str((end - start if begun else 0) if elapsed is None else elapsed),
        "TimelimitRaw": limit,
        "NNodes": str(nodes),
        "NCPUS": str(64 * nodes),
    }
    return cells | changes


ROWS = [
    row(1001),
    row(1002, "TIMEOUT", 10, 200, 7402, limit="120", User="ben"),
    row(1003, "OUT_OF_MEMORY", 20, 300, 400),
    row("1004_7", "FAILED", 30, 300, 400, JobIDRaw="1011"),
    row("5010_[1-20%4]", *GONE, limit="60"),
    row(1006, "CANCELLED by 7", 40, 500, 600),
    row("1007+1", "COMPLETED", 50, 500, 900, JobIDRaw="1008", User=""),
    row(1012, "RUNNING", 60, 1000, "Unknown", 500),
    row(1013, "COMPLETED", 70, 1100, 2100, limit="UNLIMITED"),
    row(1014, "NODE_FAIL", 80, 1200, 2200, limit="Partition_Limit", nodes=1),
]


def delimited_text(rows, mark="|", *, ending="", names=NAMES):
    return "".join(
        mark.join(cells) + ending + "\n" for cells in [names, *([one[name] for name in names] for one in rows)]
    )


def aligned_text(rows, names=NAMES, *, widths=None, default=20):
    """As Slurm's printf writes a column: at the right (JobID at the left), cut with a + at its end."""

    def line(cells):
        columns = []
        for name, cell in zip(names, cells, strict=True):
            data, width = cell.encode(), (widths or {}).get(name, default)
            if len(data) > width:
                data = data[: width - 1] + b"+"
            columns.append(data.ljust(width) if name == "JobID" else data.rjust(width))
        return b" ".join(columns) + b" \n"

    header = b" ".join(
        (name[:width].ljust if name == "JobID" else name[:width].rjust)(width).encode()
        for name in names
        for width in [(widths or {}).get(name, default)]
    )
    dashes = b" ".join(b"-" * (widths or {}).get(name, default) for name in names)
    rows = b"".join(line([one[name] for name in names]) for one in rows)
    return decode_text(header + b" \n" + dashes + b" \n" + rows, "a.txt")


def as_json(rows, *, new=False):
    """As ``sacct --json`` writes it: of version 22.05, or of the versions since 23.02."""

    def count(text):
        number = int(text) if text.isdecimal() else None
        if not new:
            return number
        return {"set": number is not None, "infinite": text == "UNLIMITED", "number": number or 0}

    def seconds(text):
        return int(text) if text.isdecimal() else 0

    jobs = []
    for one in rows:
        whole, _, task = one["JobID"].partition("_")
        lead, _, part = one["JobID"].partition("+")
        tasks = task.strip("[]") if task.startswith("[") else None
        jobs.append(
            {
                "account": one["Account"],
                "allocation_nodes": int(one["NNodes"]) if one["Start"] != "Unknown" else 0,
                "array": {
                    "job_id": int(whole) if task else 0,
                    "task": tasks,
                    "task_id": count("" if tasks else task),
                },
                "association": {"user": one["User"], "account": one["Account"]},
                "het": {"job_id": int(lead) if part else 0, "job_offset": count(part)},
                "job_id": int(one["JobIDRaw"]),
                "name": one["JobName"],
                "partition": one["Partition"],
                "qos": one["QOS"],
                "required": {"CPUs": int(one["NCPUS"])},
                "state": {"current": [one["State"].split()[0]] if new else one["State"].split()[0], "reason": "None"},
                "steps": [{"step": {"id": "batch"}}],
                "time": {
                    "elapsed": int(one["ElapsedRaw"]),
                    "end": seconds(one["End"]),
                    "limit": count(one["TimelimitRaw"]),
                    "start": seconds(one["Start"]),
                    "submission": seconds(one["Submit"]),
                },
                "tres": {
                    "allocated": [{"type": "node", "count": int(one["NNodes"])}] if one["Start"] != "Unknown" else [],
                    "requested": [{"type": "node", "count": int(one["NNodes"])}],
                },
                "user": one["User"],
            }
        )
    parts = {"meta": {"Slurm": {"release": "23.11"}}, "errors": [], "jobs": jobs}
    return json.dumps(dict(reversed(parts.items())) if new else parts, indent=2 if new else None)


def parse(text, **options):
    return parse_sacct(text, "a.txt", **options)


def trace_contents(trace):
    return trace.jobs, trace.excluded, trace.remarks, trace.withdrawn, trace.header, trace.unit


FORMS = {
    "-p": delimited_text(ROWS, ending="|"),
    "comma": delimited_text(ROWS, ","),
    "semicolon, windows": delimited_text(ROWS, ";").replace("\n", "\r\n"),
    "tab": delimited_text(ROWS, "\t"),
    "several characters": delimited_text(ROWS, "@::@"),
    "a spreadsheet": delimited_text(ROWS, '","').replace("\n", '"\n"')[:-1].join(('"', "")),
    "with the header again": delimited_text(ROWS[:4]) + delimited_text(ROWS[4:]),
    "aligned": aligned_text(ROWS),
    "aligned, narrow": aligned_text(ROWS, widths={"State": 10, "TimelimitRaw": 10, "Partition": 5}),
    "aligned, cut at the right": "\n".join(line.rstrip() for line in aligned_text(ROWS).split("\n")),
    "json": as_json(ROWS),
    "json since 23.02": as_json(ROWS, new=True),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_reads_to_the_same_jobs(form):
    first = parse(delimited_text(ROWS))
    assert (len(first.jobs), first.excluded) == (8, {"never started": 20, "not ended": 1})
    assert looks_like_sacct(FORMS[form])
    assert trace_contents(parse(FORMS[form])) == trace_contents(first)


def test_names_of_several_bytes_keep_the_columns_apart():
    rows = [row(1, JobName="Überström"), row(2, JobName="Strömung"), row(3)]
    text = aligned_text(rows)
    assert "Überström" in text
    assert parse(text).jobs == parse(delimited_text(rows)).jobs
    # A column that cuts a character in two leaves bytes that are no UTF-8; all are then read one by one.
    assert "Ã" in aligned_text(rows, widths={"JobName": 10})
    assert parse(aligned_text(rows, widths={"JobName": 10})).jobs == parse(delimited_text(rows)).jobs
    characters = aligned_text([one | {"JobName": "Stromungen"} for one in rows]).replace("Strom", "Ström")
    assert parse(characters).jobs == parse(delimited_text(rows)).jobs


def test_what_a_narrow_column_cuts_is_reported():
    rows = [row(1, User="alexandra"), row(2, User="alexander"), row(3)]
    trace = parse(aligned_text(rows, widths={"User": 8}))
    assert [job.user for job in trace.jobs] == ["alexand+", "alexand+", "ada"]
    assert trace.remarks == {"User cut off by its column: names that begin alike count as one": 2}
    names = [name for name in NAMES if name != "JobID"]
    for name, width, cell in (
        ("Submit", 9, "17000000+"),
        ("JobIDRaw", 6, "12345+"),
        ("TimelimitRaw", 10, "100000000+"),
    ):
        with pytest.raises(TraceError) as caught:
            parse(aligned_text([row(1234567, limit="10000000000")], names, widths={name: width}))
        message = f"{name} is cut off ('{cell}'): export with -P, or with a wider column ({name}%30)"
        assert str(caught.value) == f"a.txt:3: {message}"


def test_steps_and_arrays_whose_ids_are_cut():
    rows = [
        row("1234567_1234"),
        row("1234567_1234.batch", User="", Partition=""),
        row("5010_[1-20,40]", *GONE),
    ]
    names = [name for name in NAMES if name != "JobIDRaw"]
    trace = parse(aligned_text(rows, names, widths={"JobID": 12}))
    assert [job.job_id for job in trace.jobs] == [(1234567 << 32) + 1234]
    assert trace.excluded == {"job step": 1, "never started": 1}
    assert trace.remarks == {"array without all ids of its jobs (the named jobs count, or one)": 1}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (aligned_text([row(1)]).replace(" 1700000100", "x1700000100"), "a.txt:3: Start must be a time such as"),
        (
            aligned_text([row(1)]).replace(" 1700003700 ", "  1700003700"),
            "a.txt:3: the columns of a line must stand under the line of",
        ),
        ("JobID  Submit\n----- -\n", "a.txt:1: the names of the columns must stand over the line of dashes"),
        (
            aligned_text([row(1)], ("JobID", "JobName", "Partition", "Account", "NCPUS", "State")),
            "a.txt:1: the header row must have a column Submit (docs/guides/sacct.md has a command",
        ),
        ("JobID|Submit" * 10_000, "a.txt:1: the header row must have at most 100,000 characters"),
        ("JobID Submit\n" + "- " * 60_000, "a.txt:1: the header row must have at most 100,000 characters"),
        ('{"jobs": {}}', "a.txt: has no list 'jobs'"),
        ('{"jobs": [\n7]}', "a.txt:2: a job must be an object, not 7"),
        ('{"jobs": [{"time": []}]}', "a.txt:1: time must be an object, not []"),
        ('{"jobs": [{"job_id": {"set": true, "number": []}}]}', "a.txt:1: job_id must be a number or a text, not []"),
        ('{"jobs": [{"tres": {"allocated": 7}}]}', "a.txt:1: allocated must be a list, not 7"),
        ('{"jobs": [],\n "a" 7}', "a.txt:2: is not JSON from column 6 on"),
        ('{"jobs": [', "a.txt:1: is not JSON from column 11 on"),
        ('{"jobs": []} 7', "a.txt:1: is not JSON from column 14 on"),
        ('{"jobs": [' + "[" * 100_000, "a.txt:1: is nested too deeply"),
        ('{"jobs": [' + "9" * 5000 + "]}", "a.txt:1: holds a whole number of more than 4,300 digits"),
        ("{}", "a.txt: has no list 'jobs'"),
        ("{7: []}", "a.txt:1: is not JSON from column 2 on"),
    ],
)
def test_what_is_broken_is_one_sentence(text, sentence):
    with pytest.raises(TraceError) as caught:
        parse(text)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_broken_jobs_are_counted():
    broken = json.loads(as_json(ROWS))
    broken["jobs"][1:3] = [7, {**broken["jobs"][1], "job_id": "x"}]
    trace = parse(json.dumps(broken), lenient=True)
    assert (len(trace.jobs), trace.excluded["broken line"]) == (6, 2)


def test_executions_and_parts_of_one_job():
    # As sacct -D lists them: one line for each execution, and one for each size, with the start of the whole job.
    rows = [
        row(1, "REQUEUED", 0, 100, 1100, nodes=8),
        row(1, "RESIZING", 1100, 2000, 3000, nodes=8),
        row(1, "COMPLETED", 3000, 2000, 6000, 4000, nodes=2),
        row(2, "COMPLETED", 50, 10, 1000),
    ]
    trace = parse(delimited_text(rows))
    parts = [(job.submit - 1.7e9, job.wait, job.runtime, job.walltime, job.nodes) for job in trace.jobs]
    assert parts == [
        (0, 100, 1000, 7200, 8),
        (1100, 900, 1000, 7200, 8),
        (3000, 0, 3000, 6200, 2),  # 120 minutes less those from the start of the job to the change
        (50, None, 990, 7200, 4),  # a clock that went backwards is no resized job
    ]
    assert trace.remarks["state REQUEUED"] == trace.remarks["state RESIZING"] == 1


def slurm(name):
    return shared_file("slurm", name)


def test_exports_of_a_real_slurm_read_to_the_same_jobs(tmp_path):
    iso, epochs = read_trace(slurm("sacct-iso.txt")), read_trace(slurm("sacct-replayed-all-fields.txt"))
    assert (len(iso.jobs), iso.unit) == (80, "nodes")
    assert iso.jobs == epochs.jobs
    # The same file in the other forms.
    lines = [line.split("|") for line in slurm("sacct-iso.txt").read_text().splitlines()]
    names, rows = lines[0], [dict(zip(lines[0], cells, strict=True)) for cells in lines[1:]]
    for text in (aligned_text(rows, names, default=200), delimited_text(rows, "\t", names=names, ending="\t")):
        (tmp_path / "a").write_text(text)
        other = read_trace(tmp_path / "a")
        assert (other.jobs, other.excluded, other.remarks) == (iso.jobs, iso.excluded, iso.remarks)


def test_json_of_a_real_slurm_reads_to_the_same_jobs():
    plain, from_json = read_trace(slurm("sacct-all-fields-three-jobs.txt")), read_trace(slurm("sacct.json"))
    assert [job.job_id for job in from_json.jobs] == [5, 6]
    assert plain.excluded == {"job step": 3}
    assert from_json.jobs == plain.jobs[:2]

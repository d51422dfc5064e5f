"""Column layouts of public data sets: the columns that contain the requests and the times of jobs.

Checked against files: the samples of Philly and Helios of RLScheduler-like projects (``gpu_num``, ``interval``),
Alibaba 2023 (``openb_pod_list``). From their documentation only: PM100
(https://doi.org/10.5281/zenodo.10127767), F-DATA (https://doi.org/10.5281/zenodo.11467483), Helios
(https://github.com/S-Lab-System-Group/HeliosData), Acme (https://github.com/InternLM/AcmeTrace), MIT Supercloud
(https://dcc.mit.edu, the Slurm log).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from holdfast.workloads.ground.errors import ParameterError, UnknownNameError

__all__ = ["LAYOUTS", "RAW_COLUMNS", "Layout", "get_layout", "layout_of_columns", "roles_of_requests"]

#: Columns that describe the request of a job.
RAW_COLUMNS = (
    *("nodes", "tasks", "tasks_per_node", "processors", "cores", "memory", "memory_total", "gpus", "gpus_total"),
    *("tres", "features", "partition", "qos", "account", "exclusive", "begin"),
)


class Layout(NamedTuple):
    """The columns of a known data set.

    Attributes
    ----------
    title
        Name for people.
    marks
        Columns by which it is recognised.
    request
        Columns by raw names (:data:`RAW_COLUMNS`), perhaps with a factor:
        ``("cpu_milli", 0.001)``.
    times
        Columns and seconds of their units: id, submit or interval (since the job before), start, end, runtime,
        walltime, user.
    whole_nodes
        Whether jobs have their nodes exclusively.
    """

    title: str
    marks: tuple[str, ...]
    request: Mapping[str, tuple[str, float]]
    times: Mapping[str, tuple[str, float]]
    whole_nodes: bool = False


def _columns(**names: str | tuple[str, float]) -> dict[str, tuple[str, float]]:
    return {key: (name, 1.0) if isinstance(name, str) else name for key, name in names.items()}


_SECONDS = _columns(id="job_id", submit="submit_time", start="start_time", end="end_time", user="user")
_GPU_COUNTS = _columns(nodes="node_num", processors="cpu_num", gpus_total="gpu_num")

#: The data sets by name, asked in this order.
LAYOUTS: Mapping[str, Layout] = {
    "pm100": Layout(
        "PM100 (Marconi100)",
        ("job_id", "submit_time", "num_nodes_req", "num_cores_req", "mem_req"),
        # Gigabytes of the job.
        _columns(nodes="num_nodes_req", processors="num_cores_req", gpus_total="num_gpus_req",
                 memory_total=("mem_req", 1024.0), partition="partition", qos="qos", exclusive="shared_exclusive"),
        _columns(id="job_id", submit="submit_time", start="start_time", end="end_time", runtime="run_time",
                 walltime=("time_limit", 60.0), user="user_id"),
    ),
    "f-data": Layout(
        "F-DATA (Fugaku)",
        ("adt", "sdt", "edt", "nnumr", "elpl"),
        _columns(nodes="nnumr"),
        _columns(id="jid", submit="adt", start="sdt", end="edt", runtime="duration", walltime="elpl", user="usr"),
        whole_nodes=True,
    ),
    "alibaba-2023": Layout(
        "Alibaba 2023 (openb)",
        ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"),
        _columns(cores=("cpu_milli", 0.001), memory="memory_mib", gpus="num_gpu", features="gpu_spec", qos="qos"),
        _columns(id="name", submit="creation_time", start="scheduled_time", end="deletion_time"),
    ),
    "acme": Layout(
        "Acme",
        ("job_id", "node_num", "gpu_num", "cpu_num", "submit_time", "type"),
        {**_GPU_COUNTS, **_columns(memory=("mem_per_pod_gb", 1024.0))},
        {**_SECONDS, **_columns(runtime="duration")},
    ),
    "helios": Layout(
        "Helios",
        ("job_id", "gpu_num", "cpu_num", "node_num", "submit_time"),
        {**_GPU_COUNTS, **_columns(partition="vc")},
        {**_SECONDS, **_columns(runtime="duration")},
    ),
    "gpu-sample": Layout(
        "a sample of Philly or Helios",
        ("u_id", "gpu_num", "cpu_num", "node_num", "interval", "run_time"),
        _GPU_COUNTS,
        _columns(id="u_id", interval="interval", runtime="run_time", walltime="wall_time", user="user"),
    ),
    "supercloud": Layout(
        "MIT Supercloud",
        ("id_job", "cpus_req", "tres_req", "time_submit", "time_start", "time_end"),
        _columns(processors="cpus_req", tres="tres_req", partition="partition", features="constraints"),
        _columns(id="id_job", submit="time_submit", start="time_start", end="time_end", walltime=("timelimit", 60.0),
                 user="id_user"),
    ),
}  # fmt: skip


def layout_of_columns(names: Iterable[str]) -> Layout | None:
    """Find the layout with these columns; None if there is none.

    >>> layout_of_columns(["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "qos"]).title
    'Alibaba 2023 (openb)'
    """
    there = {name.strip().lower() for name in names}
    return next((layout for layout in LAYOUTS.values() if there >= set(layout.marks)), None)


def get_layout(name: str) -> Layout:
    """Return a layout by its name.

    Raises
    ------
    UnknownNameError
        If the name is unknown.
    """
    if name not in LAYOUTS:
        raise UnknownNameError("layout of a table", name, LAYOUTS)
    return LAYOUTS[name]


def roles_of_requests(columns: str) -> dict[str, tuple[str, float]]:
    """The columns of requests among the roles of ``--columns``; other roles are skipped.

    Parameters
    ----------
    columns
        ``"gpus=num_gpus,memory=mem,partition=queue"``.

    Raises
    ------
    ParameterError
        If a role has no column.

    Examples
    --------
    >>> roles_of_requests("submit=t,gpus=n_gpus,account=acct")
    {'gpus': ('n_gpus', 1.0), 'account': ('acct', 1.0)}
    """
    found = {}
    for part in columns.split(","):
        role, _, column = part.partition("=")
        role = {"project": "account"}.get(role.strip().lower(), role.strip().lower())
        if role in RAW_COLUMNS:
            if not column.strip():
                raise ParameterError("columns", "roles and columns, such as gpus=num_gpus", columns)
            found[role] = (column.strip().lower(), 1.0)
    return found

"""Lab: a complete Slurm on the loopback interface, for one account, in one directory, on an optionally faster clock."""

from __future__ import annotations

import getpass
import json
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from holdfast.experiments.slurm.client import call
from holdfast.experiments.slurm.daemons import MARK, end, lab_processes, launch, leave, until
from holdfast.experiments.slurm.lab_limits import add_partition_limits, set_limits
from holdfast.experiments.slurm.lab_machine import gres_lines, machine_lines
from holdfast.experiments.slurm.templates import fill_template
from holdfast.workloads.ground.documents import read_json
from holdfast.workloads.ground.errors import InputError, ParameterError, TraceError
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.machines.machine import Machine

__all__ = [
    "FASTEST",
    "PARAMETERS",
    "SCHEDULERS",
    "Lab",
    "add_owners",
    "is_running",
    "open_lab",
    "start_lab",
    "stop_lab",
]

#: Largest speed: with a faster clock the schedulers' intervals become too short.
FASTEST = 200
#: Scheduler plug-ins, and the corresponding rules of the simulator.
SCHEDULERS = ("backfill", "builtin")
#: Parameters that plan every waiting job, as in conservative backfilling, at each change.
PARAMETERS = (
    "permit_job_expansion,bf_busy_nodes,bf_interval=1,bf_resolution=1,bf_window=10080,bf_max_job_test=1000,bf_continue,"
    "bf_yield_interval=10000000,default_queue_depth=10000,batch_sched_delay=0,sched_interval=1,bf_max_time=60"
)
_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "sinfo", "scancel")
_DATABASE = ("slurmdbd", "sacctmgr", "sacct", "mariadbd", "mariadb", "mariadb-install-db")
_FOLDERS = ("munge", "state", "spool", "pid", "log", "db", "tmp")
_DOCUMENT = "lab.json"
#: Directory of daemons on Debian.
_PATH = "/usr/sbin:/sbin"
#: The account of the user of a lab.
_ACCOUNT = "science"
#: Limit on the path length, because names of sockets are limited.
_LONGEST = 80


@dataclass(frozen=True)
class Lab:
    """A running lab.

    Attributes
    ----------
    directory
        Absolute path.
    nodes
        Virtual nodes.
    speed
        Seconds of its clock per real second.
    port
        First of its ports: controller, accounting, database, and from the fifth on the nodes.
    accounting
        Whether it has an accounting database.
    scheduler
        Plug-in.
    parameters
        SchedulerParameters.
    clock
        Name of the shared clock; empty: the real one.
    library
        Library that changes the speed of the clock; empty: none.
    """

    directory: str
    nodes: int
    speed: float
    port: int
    accounting: bool
    scheduler: str
    parameters: str
    clock: str = ""
    library: str = ""

    @property
    def place(self) -> Path:
        """The directory."""
        return Path(self.directory)

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of a process that uses this Slurm and its clock."""
        variables = {"SLURM_CONF": f"{self.directory}/slurm.conf", "TZ": "UTC"}
        if self.clock:
            variables |= {
                "LD_PRELOAD": self.library,
                "FAKETIME": f"+0 x{self.speed:g}",
                "FAKETIME_DONT_RESET": "1",
                "FAKETIME_SHARED": self.clock,
            }
        return variables

    def call(self, words: Sequence[str]) -> str:
        """Output of one of Slurm's commands."""
        return call(words, environment={**self.variables, "PATH": f"{os.environ.get('PATH', '')}:{_PATH}"})

    def answers(self, words: Sequence[str]) -> bool:
        """Whether a command succeeds."""
        try:
            self.call(words)
        except InputError:
            return False
        return True


def start_lab(
    directory: Path,
    *,
    nodes: int,
    speed: float,
    port: int,
    accounting: bool,
    scheduler: str,
    parameters: str,
    settings: Sequence[str] = (),
    machine: Machine | None = None,
) -> Lab:
    """Start a lab in a directory, removing files of an earlier lab.

    Parameters
    ----------
    directory
        Absolute path.
    nodes, speed, port, accounting, scheduler, parameters
        As of :class:`Lab`.
    settings
        Further lines of slurm.conf, as ``Name=value``; a name that the lab sets is replaced.
    machine
        Nodes and partitions with their limits, ``nodes`` in all; None: equal nodes of one CPU, each for one job.

    Raises
    ------
    InputError
        If a package is missing, the directory or a port is in use, or a daemon does not start; no process is left
        running.
    """
    _check(directory, nodes, port, accounting, speed)
    if machine is not None and machine.limits and not accounting:
        raise InputError("the machine has limits, which need a database: add --accounting")
    shutil.rmtree(directory, ignore_errors=True)
    for name in _FOLDERS:
        (directory / name).mkdir(parents=True)
    (directory / "state").chmod(0o700)
    lab = Lab(str(directory), nodes, speed, port, accounting, scheduler, parameters)
    try:
        if speed != 1:
            lab = _with_clock(lab)
        _write(lab, settings, machine)
        _start(lab, machine)
    except BaseException:
        end(directory, ())
        _forget_clock(lab)
        raise
    return lab


def open_lab(directory: Path) -> Lab:
    """The lab of a directory.

    Raises
    ------
    InputError
        If there is none, or it is not running.
    """
    lab = _read(directory)
    if not is_running(directory):
        raise InputError(f"{directory}: the lab does not run; 'holdfast slurm lab start' starts it")
    return lab


def is_running(directory: Path) -> bool:
    """Whether a controller runs in this directory."""
    return "slurmctld" in lab_processes(directory).values()


def add_owners(
    lab: Lab,
    accounts: Collection[str],
    qos: Collection[str],
    users: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> None:
    """Add accounts, QOS and users to the database of a lab; those that it has stay.

    Parameters
    ----------
    lab
        The lab; its user may use all accounts.
    accounts, qos
        Their names. All users may use all QOS.
    users
        The accounts of other users; without one a user has that of the lab.

    Raises
    ------
    InputError
        If a name has other characters than letters, digits, ``_``, ``.`` and ``-``, or Slurm refuses one.
    """
    for kind, names in (("account", accounts), ("qos", qos), ("user", users)):
        for name in names:
            if not re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", name):
                raise ParameterError("owner", f"names of {kind} with letters, digits, _, . and -", name)
    for kind, column, names in (("account", "Account", accounts), ("qos", "Name", qos)):
        known = set(lab.call(["sacctmgr", "-n", "-P", "show", kind, f"format={column}"]).split())
        for name in sorted(names):
            if name.lower() not in known:
                lab.call(["sacctmgr", "-n", "-i", "add", kind, name])
    for user, own in {getpass.getuser(): accounts, **{user: own or [_ACCOUNT] for user, own in users.items()}}.items():
        for name in sorted(own):
            # For a user that has the account it says that there is one already.
            lab.answers(["sacctmgr", "-n", "-i", "add", "user", user, f"account={name}"])
        if qos:
            lab.call(["sacctmgr", "-n", "-i", "modify", "user", user, "set", f"qos+={','.join(sorted(qos))}"])


def stop_lab(directory: Path) -> int:
    """Stop all processes of a lab; the directory with its logs remains.

    Returns
    -------
    int
        Number of stopped processes.

    Raises
    ------
    InputError
        If there is no lab, or a process cannot be ended.
    """
    lab = _read(directory)
    before = lab_processes(directory)
    if "slurmctld" in before.values():
        lab.answers(["scancel", "--full", f"--user={getpass.getuser()}"])
        stop = time.monotonic() + 5.0
        while time.monotonic() < stop and _running_jobs(lab):
            time.sleep(0.1)
    left = end(directory, ("slurmctld", "slurmd", "slurmdbd", "munged", "mariadbd"))
    if left:
        raise InputError(f"{directory}: these processes could not be stopped: {', '.join(map(str, left))}")
    _forget_clock(lab)
    return len(before)


def _running_jobs(lab: Lab) -> bool:
    try:
        return bool(lab.call(["squeue", "-h", "-o", "%i"]).split())
    except InputError:
        return False


def _read(directory: Path) -> Lab:
    path = directory / _DOCUMENT
    if not path.exists():
        raise InputError(f"{directory}: holds no lab; 'holdfast slurm lab start' makes one")
    try:
        return Lab(**read_json(path))
    except TypeError:
        raise TraceError(path, None, "is not a lab document written by Holdfast") from None


def _check(directory: Path, nodes: int, port: int, accounting: bool, speed: float) -> None:
    """Refuse settings that would fail later."""
    if not re.fullmatch(r"/[A-Za-z0-9/_.-]+", str(directory)) or len(str(directory)) > _LONGEST:
        raise ParameterError("-o", f"a path of at most {_LONGEST} letters, digits, / _ . and -", str(directory))
    if not directory.parent.is_dir():
        raise InputError(f"{directory}: cannot be made: {directory.parent} is not a directory")
    if directory.exists() and (
        not directory.is_dir() or (any(directory.iterdir()) and not (directory / _DOCUMENT).exists())
    ):
        raise InputError(f"{directory}: holds other files; take a new directory")
    if lab_processes(directory):
        raise InputError(f"{directory}: a lab runs there; 'holdfast slurm lab stop' stops it")
    path = f"{os.environ.get('PATH', '')}:{_PATH}"
    _need(_PROGRAMS, "slurm-wlm munge", path)
    if accounting:
        _need(_DATABASE, "slurmdbd mariadb-server", path)
    if speed != 1:
        _need(("faketime",), "faketime", path)
    for one in (*range(port, port + 3), *range(port + 4, port + 4 + nodes)):
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(("127.0.0.1", one))
            except OSError:
                raise InputError(f"port {one} is taken; choose others with --port") from None


def _need(programs: Sequence[str], packages: str, path: str) -> None:
    missing = [name for name in programs if shutil.which(name, path=path) is None]
    if missing:
        raise InputError(
            f"{missing[0]} is not installed; on Debian use 'apt-get install --no-install-recommends {packages}'"
        )


def _with_clock(lab: Lab) -> Lab:
    """Start the process that holds the shared clock of the lab."""
    libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not libraries:
        raise InputError("libfaketime is not installed; on Debian use 'apt-get install libfaketime'")
    clock = lab.place / "clock"
    holder = f'echo "$FAKETIME_SHARED" >{clock}.new && mv {clock}.new {clock}; exec sleep 1000000000'
    environment = {**os.environ, MARK: lab.directory, "FAKETIME_DONT_RESET": "1"}
    words = ["faketime", "-m", "-f", f"+0 x{lab.speed:g}", "bash", "-c", holder]
    leave(words, environment, Path("/"), lab.place / "log" / "start.log")
    until(clock.exists, "the clock")
    return Lab(**{**asdict(lab), "clock": clock.read_text().strip(), "library": str(libraries[0])})


def _forget_clock(lab: Lab) -> None:
    """Remove the shared memory of a clock that its holder left behind."""
    for name in lab.clock.split():
        if re.fullmatch(r"/?(sem\.)?faketime_(sem|shm)_\d+", name):
            for path in (Path("/dev/shm", name.lstrip("/")), Path("/dev/shm", f"sem.{name.lstrip('/')}")):
                path.unlink(missing_ok=True)


def _write(lab: Lab, settings: Sequence[str], machine: Machine | None) -> None:
    """Write configurations, key and document."""
    first = lab.port + 4
    several = lab.nodes > 1
    accounting = "AccountingStorageType=accounting_storage/none"
    if lab.accounting:
        accounting = (
            "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=localhost\n"
            f"AccountingStoragePort={lab.port + 1}\nAccountingStoragePass={lab.directory}/munge/socket\n"
            "AccountingStorageEnforce=associations,limits,qos"
        )
    values = {
        "HOST": socket.gethostname().partition(".")[0],
        "USER": getpass.getuser(),
        "DIRECTORY": lab.directory,
        "CONTROLLER_PORT": str(lab.port),
        "ACCOUNTING_PORT": str(lab.port + 1),
        "DATABASE_PORT": str(lab.port + 2),
        "SCHEDULER": lab.scheduler,
        "PARAMETERS": lab.parameters,
        "ACCOUNTING": accounting,
        "NODES": f"n[1-{lab.nodes}]" if several else "n1",
        "NODE_PORTS": f"[{first}-{first + lab.nodes - 1}]" if several else str(first),
    }
    text = fill_template("slurm.conf", values)
    if machine is not None:
        text = "\n".join(line for line in text.splitlines() if not line.startswith(("NodeName=", "PartitionName=")))
        # Otherwise limits cannot count GPUs; without a database Slurm refuses it.
        counted = ["AccountingStorageTRES=gres/gpu"] if lab.accounting else []
        settings = [*machine_lines(machine, values["HOST"], first), *counted, *settings]
        (lab.place / "gres.conf").write_text("\n".join([*gres_lines(machine, lab.place / "state"), ""]))
    configuration = _with_settings(text, settings)
    (lab.place / "slurm.conf").write_text(configuration)
    database = lab.place / "slurmdbd.conf"
    database.write_text(fill_template("slurmdbd.conf", values))
    database.chmod(0o600)
    key = lab.place / "munge" / "key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in lab.variables.items())
    (lab.place / "env").write_text(f"{exports}export PATH=$PATH:{_PATH}\n")
    with atomic_open(lab.place / _DOCUMENT) as file:
        json.dump(asdict(lab), file, indent=1)


def _with_settings(text: str, settings: Sequence[str]) -> str:
    """The configuration with further lines; nodes and partitions are added to those that are there."""
    names = {setting.partition("=")[0].lower() for setting in settings} - {"nodename", "partitionname"}
    kept = [line for line in text.splitlines() if line.partition("=")[0].lower() not in names]
    return "\n".join([*kept, *settings, ""])


def _start(lab: Lab, machine: Machine | None) -> None:
    """Start the daemons in order."""
    place, log, user = lab.place, lab.place / "log", getpass.getuser()
    environment = {**os.environ, **lab.variables, MARK: lab.directory, "PATH": f"{os.environ.get('PATH', '')}:{_PATH}"}
    # The database runs on the real clock, because it fails on a fast one.
    plain = {**os.environ, MARK: lab.directory, "PATH": environment["PATH"]}
    daemon = partial(launch, environment=environment, folder=place / "tmp", log=log / "start.log")
    munge = place / "munge"
    # munged must accept a directory below a home that only its owner can enter.
    words = [
        "munged",
        "--force",
        f"--key-file={munge}/key",
        f"--socket={munge}/socket",
        f"--seed-file={munge}/seed",
        "--num-threads=10",
    ]
    daemon([*words, f"--pid-file={place}/pid/munged.pid", f"--log-file={log}/munged.log"])
    until((munge / "socket").exists, "munged")
    if lab.accounting:
        _start_database(lab, plain)
        daemon(["slurmdbd"])
        until(partial(lab.answers, ["sacctmgr", "-n", "-i", "list", "cluster"]), "slurmdbd")
        lab.call(["sacctmgr", "-n", "-i", "add", "cluster", "lab"])
        lab.call(["sacctmgr", "-n", "-i", "add", "account", _ACCOUNT, "Description=lab", "Organization=lab"])
        # For root it says that there is one already.
        lab.answers(["sacctmgr", "-n", "-i", "add", "user", user, f"account={_ACCOUNT}", "AdminLevel=Admin"])
    limits = [] if machine is None else [limit for limit in machine.limits if limit.scope == "partition"]
    add_partition_limits(lab, limits)
    daemon(["slurmctld", "-i"])
    until(partial(lab.answers, ["scontrol", "ping"]), "slurmctld")
    if limits:
        # The database knows GPUs only now.
        set_limits(lab, limits)
    for name in machine.names if machine is not None else [f"n{number}" for number in range(1, lab.nodes + 1)]:
        (place / "spool" / name).mkdir()
        # On a busy machine one of many may fail to start, and does so at the next attempt.
        daemon(["slurmd", "-N", name], attempts=5)
    until(lambda: _idle(lab) == lab.nodes, "the nodes")


def _idle(lab: Lab) -> int:
    return len(set(lab.call(["sinfo", "-h", "-N", "-t", "idle", "-o", "%N"]).split()))


def _start_database(lab: Lab, environment: Mapping[str, str]) -> None:
    """Create an empty database and start it on the loopback interface."""
    place, log = lab.place, lab.place / "log" / "mariadb.log"
    data, here = place / "db", f"--socket={place}/db/socket"
    words = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
    launch([*words, "--skip-test-db", f"--user={getpass.getuser()}"], environment, place / "tmp", log)
    # slurmdbd wants a large log file and lock wait time; nothing here has to survive a power cut.
    server = [
        *("mariadbd", "--no-defaults", f"--datadir={data}", here, "--bind-address=127.0.0.1", f"--port={lab.port + 2}"),
        *(
            f"--user={getpass.getuser()}",
            f"--tmpdir={place}/tmp",
            "--innodb-buffer-pool-size=64M",
            "--performance-schema=OFF",
        ),
        *("--innodb-log-file-size=64M", "--innodb-lock-wait-timeout=900", "--innodb-flush-log-at-trx-commit=0"),
    ]
    leave(server, environment, place / "tmp", log)
    client = ["mariadb", "--no-defaults", here, "-u", "root", "-e"]

    def answers() -> bool:
        return not subprocess.run([*client, "select 1"], env=environment, capture_output=True, check=False).returncode

    until(answers, "mariadbd")
    grants = [
        f"create user slurm@{host} identified by 'slurm'; grant all on slurm.* to slurm@{host}"
        for host in ("127.0.0.1", "localhost")
    ]
    launch([*client, "; ".join(["create database slurm", *grants])], environment, place / "tmp", log)

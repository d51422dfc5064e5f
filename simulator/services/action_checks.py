"""Checks of the actions that policies return; each gives the reason why an action cannot be carried out.

An action that cannot be carried out is a defect of the policy, usually a plug-in: the error names the policy and the
reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.policies.port import Expand, Expect, Hold, Preempt, Shrink, Start, WaitingJob
from holdfast.simulator.machine.node_accounts import Reservation
from holdfast.workloads.ground.errors import InvariantError
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.table.job import MALLEABLE, ON_DEMAND

__all__ = [
    "answer_error",
    "check_list",
    "describe",
    "growth_problem",
    "hold_problem",
    "plan_problem",
    "room_problem",
    "start_problem",
    "tenant_problem",
]


def describe(answer: object) -> str:
    """Short text of an action, e.g. ``Start(7, nodes=3)``."""
    if isinstance(answer, Shrink) and answer.surplus:
        return f"Shrink({answer.job_id!r}, nodes={answer.nodes!r}, surplus={answer.surplus!r})"
    if isinstance(answer, Start | Shrink | Expand):
        return f"{type(answer).__name__}({answer.job_id!r}, nodes={answer.nodes!r})"
    if isinstance(answer, Expect | Preempt):
        at = getattr(answer, "at", None)
        return f"{type(answer).__name__}({answer.job_id!r}{'' if at is None else f', at={at!r}'})"
    if isinstance(answer, Hold):
        return f"Hold({answer.nodes!r})"
    text = repr(answer)
    # Addresses of objects say nothing, and differ each time.
    return f"a {type(answer).__name__}" if text.startswith("<") else text


def _nodes(count: int) -> str:
    return count_text(count, "nodes")


def answer_error(policy: str, answer: object, why: str) -> InvariantError:
    """The error for an illegal action of a policy."""
    return InvariantError(f"the {policy} answered {describe(answer)}, but {why}")


def check_list(policy: str, answers: Any) -> Sequence[Any]:
    """Return the actions of a policy if they are a list.

    Raises
    ------
    InvariantError
        If they are not a list.
    """
    if isinstance(answers, list | tuple):
        return answers
    raise answer_error(policy, answers, "must answer with a list of actions")


def start_problem(start: Any, job: WaitingJob | None, waits: bool, free: int) -> str:
    """Reason why a job cannot be started on ``free`` nodes; empty if it can.

    Parameters
    ----------
    start
        The action.
    job
        Job that the action names; None if there is no such job.
    waits
        Whether the job is in the queue.
    free
        Number of free nodes.
    """
    if not isinstance(start, Start):
        return "that is no Start"
    if job is None:
        return f"there is no job {start.job_id!r}"
    if not waits:
        return f"job {job.job_id} is not in the queue"
    if type(start.nodes) is not int:
        return "the nodes must be a whole number"
    if not job.min_nodes <= start.nodes <= job.nodes:
        sizes = f"{job.min_nodes} to {_nodes(job.nodes)}" if job.min_nodes < job.nodes else _nodes(job.nodes)
        return f"job {job.job_id} runs on {sizes}"
    if start.nodes > free:
        return f"{_nodes(free)} {'is' if free == 1 else 'are'} free"
    return ""


def tenant_problem(start: Start, idle: dict[int, int]) -> str:
    """Reason why a tenant cannot use these idle reserved nodes (by job id of the reservation); empty if it can."""
    draws = start.draws
    if not draws:
        return "a tenant must say from which reservations it draws"
    for job_id, nodes in draws.items():
        if job_id not in idle:
            return f"job {job_id!r} has no open reservation"
        if type(nodes) is not int or not 0 < nodes <= idle[job_id]:
            return f"{_nodes(idle[job_id])} of the reservation of job {job_id} are idle, not {nodes!r}"
    if sum(draws.values()) != start.nodes:
        return f"it draws {_nodes(sum(draws.values()))}"
    return ""


def plan_problem(action: Any, run: Any, now: int) -> str:
    """Reason why a run cannot be planned for a reservation by this action; empty if it can."""
    if not isinstance(action, Hold | Expect | Preempt):
        return "a notice strategy answers with Hold, Expect and Preempt"
    if isinstance(action, Hold):
        return ""
    if run is None:
        return f"job {action.job_id!r} does not run"
    if run.plan is not None:
        return f"job {run.job_id} is in a plan already"
    if isinstance(action, Preempt):
        if run.type is ON_DEMAND:
            return f"job {run.job_id} is on-demand and may not be preempted"
        if action.at is not None and (type(action.at) is not int or action.at < now):
            return f"it is {now} already"
    return ""


def room_problem(action: Any, run: Any, missing: int) -> str:
    """Reason why this action cannot free nodes of a run while ``missing`` nodes are missing; empty if it can."""
    if not isinstance(action, Preempt | Shrink):
        return "an arrival strategy answers with Preempt and Shrink"
    if run is None:
        return f"job {action.job_id!r} does not run"
    if missing <= 0 and not (isinstance(action, Shrink) and action.surplus):
        return "nothing is missing any more"
    if isinstance(action, Preempt):
        return f"job {run.job_id} may not be preempted" if run.type is ON_DEMAND else ""
    if run.type is not MALLEABLE:
        return f"job {run.job_id} is not malleable"
    if any(type(count) is not int or count < 0 for count in (action.nodes, action.surplus)):
        return "the nodes must be whole numbers of at least 0"
    if action.nodes + action.surplus < 1:
        return "the nodes must be a whole number of at least 1"
    # Borrowed nodes belong to reservations.
    spare = min(run.nodes - run.min_nodes, run.nodes - run.borrowed)
    if action.nodes + action.surplus > spare:
        return f"job {run.job_id} can give up {max(0, spare)} of its {_nodes(run.nodes)}"
    if action.nodes > missing:
        return f"only {_nodes(missing)} {'is' if missing == 1 else 'are'} missing"
    return ""


def growth_problem(action: Any, run: Any, free: int) -> str:
    """Reason why this action cannot expand a run into ``free`` nodes; empty if it can."""
    if not isinstance(action, Expand):
        return "an expansion answers with Expand"
    if run is None:
        return f"job {action.job_id!r} does not run"
    if run.type is not MALLEABLE:
        return f"job {run.job_id} is not malleable"
    if type(action.nodes) is not int or action.nodes < 1:
        return "the nodes must be a whole number of at least 1"
    if action.nodes > run.max_nodes - run.nodes:
        return f"job {run.job_id} can use {run.max_nodes - run.nodes} more than its {_nodes(run.nodes)}"
    if action.nodes > free:
        return f"{_nodes(free)} {'is' if free == 1 else 'are'} free"
    return ""


def hold_problem(held: int, free: int, reservation: Reservation) -> str:
    """Reason why a reservation cannot be opened with ``held`` of ``free`` nodes; empty if it can."""
    if type(held) is not int or held < 0:
        return "the nodes must be a whole number of at least 0"
    if held > reservation.requested:
        return f"job {reservation.job_id} asks for {_nodes(reservation.requested)}"
    if held > free:
        return f"{_nodes(free)} {'is' if free == 1 else 'are'} free"
    return ""

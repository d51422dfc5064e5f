"""Stories word by word: cases worked by hand, what is not known, and plug-ins that give their reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from holdfast.experiments.stories.reader.causes import parse_cause
from holdfast.experiments.stories.story import Stories, explain
from holdfast.policies.arrival import ARRIVALS, PreemptAtArrival
from holdfast.policies.backfilling import BACKFILLING, Easy
from holdfast.policies.port import Preempt, Request, Shrink, Start, SystemView
from holdfast.simulator import simulate
from holdfast.simulator.machine.decisions import Decision
from holdfast.simulator.machine.event_log import Entry
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job import Job
from tests.support.jobs import malleable, on_demand, rigid, stochastic

MINUTE = 60.0


def job_story(jobs: list[Job], mechanism: str, job_id: int, nodes: int = 10, **options: object) -> str:
    return str(explain(simulate(jobs, nodes, mechanism, decisions=True, **options), job_id))  # type: ignore[arg-type]


def flat(text: str) -> str:
    """Without its line ends, which are told elsewhere."""
    return " ".join(text.split())


#: Job 1 holds 6 of 10 nodes, by its walltime until 60, in truth until 40. Job 2 (8 nodes) waits from 1 on and is
#: promised 60; two nodes are left over then, so that job 3 may hold them for longer, and job 4 ends before.
QUEUE = [
    rigid(1, 0, 6, 40 * MINUTE, 60 * MINUTE),
    rigid(2, 1 * MINUTE, 8, 30 * MINUTE),
    rigid(3, 2 * MINUTE, 2, 50 * MINUTE, 100 * MINUTE),
    rigid(4, 3 * MINUTE, 2, 20 * MINUTE, 50 * MINUTE),
    rigid(5, 5 * MINUTE, 4, 20 * MINUTE),
]


def test_a_job_that_waits_first_in_the_queue() -> None:
    # 390 node-minutes: job 1 has 6 x 39 = 234; jobs 3 and 4 have 2 x 38 + 2 x 20 = 116; 40 are idle.
    assert (
        job_story(QUEUE, "baseline", 2)
        == """\
Job 2 (rigid, 8 of 10 nodes, asks for 30 min; baseline) waited 39 min and
completed 1 h 9 min after its submit.
Times are hours:minutes since the first submit of the simulation.

00:01  It was submitted and was first in the queue; 4 nodes were free, and it
       was promised a start by 01:00.
00:40  It started on 8 nodes, in its turn, 20 min earlier than first promised.
01:10  It completed.

Why it waited 39 min:
  39 min  Fewer than 8 nodes were idle. 60 % of the machine ran jobs that had
          started before it was queued (1); 30 % ran jobs behind it in the queue
          (3 and 4); 10 % was idle.
  2 jobs were backfilled ahead of it: 3 (2 nodes) and 4 (2)."""
    )


def test_a_job_that_waits_behind_another() -> None:
    # Promised at 40, when job 2 starts: its walltime ends at 70, that of job 3 at 102. Of 650 node-minutes jobs 1, 3
    # and 4 have 210 + 94 + 36 = 340, job 2 has 8 x 30 = 240, and 70 are idle.
    assert (
        job_story(QUEUE, "baseline", 5)
        == """\
Job 5 (rigid, 4 of 10 nodes, asks for 20 min; baseline) waited 1 h 5 min and
completed 1 h 25 min after its submit.
Times are hours:minutes since the first submit of the simulation.

00:05  It was submitted behind job 2, which asked for 8 nodes; no nodes were
       free.
00:40  It was now first in the queue, and it was promised a start by 01:10.
01:10  It started on 4 nodes, in its turn, as it was first promised.
01:30  It completed.

Why it waited 1 h 5 min:
  1 h 5 min  Fewer than 4 nodes were idle. 52 % of the machine ran jobs that had
             started before it was queued (1, 3 and 4); 37 % ran jobs ahead of
             it in the queue (2); 11 % was idle."""
    )


def test_a_promise_moves_when_somebody_ends_early() -> None:
    # Job 3 needs both others to end: promised 60 by walltimes, and 40 when job 2 has ended 30 min early, at 30.
    jobs = [
        rigid(1, 0, 5, 40 * MINUTE, 40 * MINUTE),
        rigid(2, 0, 5, 30 * MINUTE, 60 * MINUTE),
        rigid(3, 10 * MINUTE, 8, 5 * MINUTE),
    ]
    text = job_story(jobs, "baseline", 3)
    assert "and it\n       was promised a start by 01:00." in text
    assert (
        "00:30  When job 2 ended 30 min before its walltime, the promise moved to 00:40,\n       20 min earlier."
        in text
    )
    assert "00:40  It started on 8 nodes, in its turn, 20 min earlier than first promised." in text


def test_a_job_that_did_not_wait_has_a_short_story() -> None:
    assert (
        job_story(QUEUE, "baseline", 3)
        == """\
Job 3 (rigid, 2 of 10 nodes, asks for 1 h 40 min; baseline) started at once and
completed 50 min after its submit.
Times are hours:minutes since the first submit of the simulation.

00:02  It was submitted.
00:02  It was backfilled: it started at once on 2 nodes, before its turn.
00:52  It completed, 50 min before its walltime was over."""
    )


#: At 10 job 2 lacks 4 nodes, which job 1 lends it until 30: 10 x 8 + 20 x 4 + 40 x 8 = 480 node-minutes.
SHRINK = [malleable(1, 0, 8, 60 * MINUTE, min_nodes=2), on_demand(2, 10 * MINUTE, 6, 20 * MINUTE)]


def test_a_lender_that_shrinks() -> None:
    assert (
        job_story(SHRINK, "N-SPAA", 1)
        == """\
Job 1 (malleable, 2 to 8 of 10 nodes, asks for 1 h; N-SPAA) started at once,
shrank once and completed 1 h 10 min after its submit.
Times are hours:minutes since the first submit of the simulation.

00:00  It was submitted.
00:00  It started at once on 8 nodes, in its turn.
00:10  It shrank from 8 to 4 nodes: 4 nodes went to on-demand job 2, which had
       arrived.
00:30  It expanded from 4 to 8 nodes: on-demand job 2 gave 4 nodes back.
01:10  It completed.

It lent 4 nodes to on-demand job 2 at 00:10; all came back to it at 00:30."""
    )
    assert (
        job_story(SHRINK, "N-SPAA", 2)
        == """\
Job 2 (on-demand, 6 of 10 nodes, asks for 20 min; N-SPAA) started at once and
completed 20 min after its submit.
Times are hours:minutes since the first submit of the simulation.

00:10  It arrived without notice.
00:10  It lacked 4 nodes beyond its own and the free ones: job 1 (shrunk, 4)
       made room.
00:10  It started on its 6 nodes, at its arrival: an instant start.
00:30  It completed. It gave back 4 of 4 nodes to job 1."""
    )


#: At 20 job 3 lacks 3 nodes. Job 1 would lose 4 x 20 node-minutes, job 2 4 x 15: it goes, and one node becomes free.
PREEMPT = [
    rigid(1, 0, 4, 100 * MINUTE),
    rigid(2, 5 * MINUTE, 4, 100 * MINUTE),
    on_demand(3, 20 * MINUTE, 5, 10 * MINUTE),
]


def test_a_victim_and_why_that_one() -> None:
    # Of 100 node-minutes job 3 has 50, job 1 40, and 10 are idle. At 30 the 3 nodes and the free one suffice.
    assert (
        job_story(PREEMPT, "N-PAA", 2)
        == """\
Job 2 (rigid, 4 of 10 nodes, asks for 1 h 40 min; N-PAA) started at once, was
preempted once and completed 2 h 5 min after its submit. It lost 1 node-hour.
Times are hours:minutes since the first submit of the simulation.

00:05  It was submitted.
00:05  It started at once on 4 nodes, in its turn.
00:20  It was preempted on 4 nodes to make room for on-demand job 3, which had
       arrived. It lost 1 node-hour, as this run had written no checkpoint. The
       next best choice, job 1, would have lost 1.33 node-hours.
00:20  It was queued again and was first in the queue; 1 node was free, and it
       was promised a start by 00:30.
00:30  It started again on 4 nodes, 3 of which on-demand job 3 gave back, as it
       was first promised.
02:10  It completed.

Why it waited 10 min again, from 00:20 on:
  10 min  Fewer than 4 nodes were idle. 50 % of the machine ran on-demand jobs
          that started meanwhile (3); 40 % ran jobs that had started before it
          was queued (1); 10 % was idle.

It lent 3 nodes to on-demand job 3 at 00:20; all came back to it at 00:30."""
    )


#: At 10 four nodes are reserved for job 2; job 3 becomes their tenant at 15; at 30 job 1 leaves four more.
TENANT = [
    rigid(1, 0, 6, 30 * MINUTE, 60 * MINUTE),
    on_demand(2, 45 * MINUTE, 8, 10 * MINUTE, notice=10 * MINUTE, estimated=40 * MINUTE),
    rigid(3, 15 * MINUTE, 3, 60 * MINUTE),
]


def test_notice_reservation_and_tenant() -> None:
    assert (
        job_story(TENANT, "CUA-PAA", 2)
        == """\
Job 2 (on-demand, 8 of 10 nodes, asks for 10 min; CUA-PAA) started at once and
completed 10 min after its submit.
Times are hours:minutes since the first submit of the simulation.

00:10  It gave notice, announcing its arrival for 00:40.
00:10  4 free nodes were reserved for it: 4 of 8.
00:30  4 nodes of job 1, which ended, were reserved for it: 8 of 8.
00:45  It arrived, 5 min later than announced, with 8 of its 8 nodes reserved; 3
       of them were lent to job 3, which had to leave.
00:45  It started on its 8 nodes, at its arrival: an instant start.
00:55  It completed."""
    )
    # 3 nodes for 30 minutes are lost.
    assert (
        job_story(TENANT, "CUA-PAA", 3)
        == """\
Job 3 (rigid, 3 of 10 nodes, asks for 1 h; CUA-PAA) started at once, was
preempted once and completed 1 h 40 min after its submit. It lost
1.5 node-hours.
Times are hours:minutes since the first submit of the simulation.

00:15  It was submitted.
00:15  It started at once as a tenant, on 3 nodes reserved for on-demand jobs (3
       of job 2).
00:45  It was preempted on 3 nodes as a tenant of on-demand job 2, which had
       arrived. It lost 1.5 node-hours, as this run had written no checkpoint.
00:45  It was queued again and was first in the queue; 2 nodes were free, and it
       was promised a start by 00:55.
00:55  It started again on 3 nodes, in its turn, as it was first promised.
01:55  It completed.

Why it waited 10 min again, from 00:45 on:
  10 min  Fewer than 3 nodes were idle. 80 % of the machine ran on-demand jobs
          that started meanwhile (2); 20 % was idle."""
    )


def test_a_plan_its_warning_and_what_was_secured() -> None:
    # Job 3 will need 10 nodes at 60. The plan: job 2 is warned at 58, where it would lose its setup, 5 x 2
    # node-minutes; job 1 is preempted right after its second checkpoint: 6 min of setup, then 22 min a cycle, so at 50.
    jobs = [
        rigid(1, 0, 5, 200 * MINUTE, setup=6 * MINUTE, interval=20 * MINUTE, cost=2 * MINUTE),
        malleable(2, 0, 5, 200 * MINUTE, min_nodes=5, setup=2 * MINUTE),
        on_demand(3, 60 * MINUTE, 10, 30 * MINUTE, notice=30 * MINUTE),
    ]
    assert (
        job_story(jobs, "CUP-PAA", 3)
        == """\
Job 3 (on-demand, 10 of 10 nodes, asks for 30 min; CUP-PAA) started at once and
completed 30 min after its submit.
Times are hours:minutes since the first submit of the simulation.

00:30  It gave notice, announcing its arrival for 01:00.
00:30  For the rest the plan was to preempt job 2 at 00:58, where it would lose
       0.167 node-hours (in time for its warning): done; to preempt job 1 at
       00:50, where it would lose 0.5 node-hours (right after a checkpoint):
       done.
00:50  5 nodes of job 1, which was preempted, were reserved for it: 5 of 10.
01:00  5 nodes of job 2, which was preempted, were reserved for it: 10 of 10.
01:00  It arrived as announced, with 10 of its 10 nodes reserved; 5 of them were
       lent to job 1, which had to leave.
01:00  It started on its 10 nodes, at its arrival: an instant start.
01:30  It completed. It gave back 0 of 5 nodes to job 1 and 5 of 5 to job 2."""
    )
    victim = flat(job_story(jobs, "CUP-PAA", 1))
    assert "It lost 0.5 node-hours; 2 checkpoints of this run had secured 40 min of work." in victim
    assert "The plan takes the jobs that would lose least." in victim
    # It had become a tenant of what it had given up, and so it is no lender any more.
    assert "01:00 It was preempted on 5 nodes as a tenant of on-demand job 3, which had arrived." in victim
    assert "It lost 0.833 node-hours, as this run had written no checkpoint. 01:00 It was queued again" in victim
    assert victim.endswith("It lent 5 nodes to on-demand job 3 at 00:50; none came back to it.")
    warned = flat(job_story(jobs, "CUP-PAA", 2))
    assert "00:58 It was warned by the plan for on-demand job 3: 2 min to leave its 5 nodes." in warned
    assert "01:00 It gave up its nodes, another 0.167 node-hours lost to the warning." in warned


def test_an_on_demand_job_that_must_wait() -> None:
    # Ten nodes are with an on-demand job, which nobody may preempt.
    jobs = [on_demand(1, 0, 10, 30 * MINUTE, 40 * MINUTE), on_demand(2, 10 * MINUTE, 4, 10 * MINUTE)]
    assert (
        job_story(jobs, "N-SPAA", 2)
        == """\
Job 2 (on-demand, 4 of 10 nodes, asks for 10 min; N-SPAA) waited 20 min and
completed 30 min after its submit.
Times are hours:minutes since the first submit of the simulation.

00:10  It arrived without notice.
00:10  It lacked 4 nodes beyond its own and the free ones; others could give up
       only 0, so none of them had to.
00:10  It was queued ahead of all jobs but earlier on-demand jobs and was first
       in the queue; no nodes were free, and it was promised a start by 00:40.
00:30  It started on 4 nodes, in its turn, 10 min earlier than first promised.
00:40  It completed.

Why it waited 20 min in the queue:
  20 min  Fewer than 4 nodes were idle. 100 % of the machine ran jobs that had
          started before it was queued (1)."""
    )


def test_a_no_show() -> None:
    jobs = [rigid(1, 0, 2, 60 * MINUTE), on_demand(2, None, 4, 60.0, notice=0.0, estimated=10 * MINUTE)]
    assert (
        job_story(jobs, "CUA-PAA", 2)
        == """\
Job 2 (on-demand, 4 of 10 nodes, asks for 1 min; CUA-PAA) never arrived.
Times are hours:minutes since the first submit of the simulation.

00:00  It gave notice, announcing its arrival for 00:10.
00:00  4 free nodes were reserved for it: 4 of 4.
00:20  It had not arrived in time, and its reservation was released."""
    )
    assert "arrival for 00:10; N-PAA ignores notices." in flat(job_story(jobs, "N-PAA", 2))


def test_enough_nodes_were_free_but_another_stood_first() -> None:
    # Job 3 would fit from 2 on, but its walltime passes the promise to job 2; at 20 job 1 has ended.
    jobs = [rigid(1, 0, 6, 20 * MINUTE), rigid(2, MINUTE, 10, 5 * MINUTE), rigid(3, 2 * MINUTE, 4, 30 * MINUTE)]
    text = job_story(jobs, "baseline", 3)
    assert "  18 min  At least 4 nodes were free, but job 2 was first in the queue, and this\n" in text
    assert "          job could have delayed its start.\n" in text
    assert "   5 min  Fewer than 4 nodes were idle. 100 % of the machine ran jobs ahead of\n" in text


def test_nodes_were_held_for_an_on_demand_job() -> None:
    # Four free nodes are reserved at 10 and nobody may be their tenant; the job comes at 30 and takes them.
    jobs = [
        rigid(1, 0, 6, 60 * MINUTE),
        on_demand(2, 30 * MINUTE, 4, 10 * MINUTE, notice=10 * MINUTE),
        rigid(3, 15 * MINUTE, 4, 10 * MINUTE),
    ]
    text = job_story(jobs, "CUA-PAA", 3, tenants="none")
    assert (
        """\
Why it waited 25 min:
  15 min  At least 4 nodes were idle, but too many of them were held for
          on-demand job 2.
  10 min  Fewer than 4 nodes were idle. 60 % of the machine ran jobs that had
          started before it was queued (1); 40 % ran on-demand jobs that started
          meanwhile (2)."""
        in text
    )


def test_the_job_before_it_became_a_tenant_when_the_pass_was_over() -> None:
    # Of 4 nodes job 1 has one until 30, and two are held for job 2. Job 3 fits on these alone, and is promised 30; job
    # 4 would delay that, until job 3 is a tenant.
    jobs = [
        rigid(1, 0, 1, 30 * MINUTE),
        on_demand(2, 60 * MINUTE, 2, 10 * MINUTE, notice=0, estimated=60 * MINUTE),
        rigid(3, 5 * MINUTE, 2, 40 * MINUTE),
        rigid(4, 5 * MINUTE, 1, 60 * MINUTE),
    ]
    assert job_story(jobs, "CUA-SPAA", 4, nodes=4).endswith(
        """\
Why it waited 25 min:
  25 min  At least 1 node was free, but job 3 stood before it until the
          scheduling pass was over, and then started on reserved nodes."""
    )


def test_a_stochastic_job_tells_each_of_its_reservations() -> None:
    from holdfast.policies.planning.plan_book import Planner

    job = stochastic(1, 0.0, 4, 90 * MINUTE, "masi", walltime=60 * MINUTE)
    text = flat(str(explain(simulate([job], 10, decisions=True, planner=Planner()), 1)))
    assert (
        "01:00 Reservation 1, of 1 h, ended before the job did, and had no checkpoint to save its work. It lost 4"
        in text
    )
    assert "Reservation 2, of 1 h 30 min, was long enough: the job completed." in text


def test_many_changes_of_the_size_are_cut() -> None:
    # Seven on-demand jobs, one after the other, each take and give back 2 of its nodes.
    guests = [on_demand(number, number * 10 * MINUTE, 2, 5 * MINUTE) for number in range(2, 9)]
    story = explain(simulate([malleable(1, 0, 10, 200 * MINUTE, min_nodes=2), *guests], 10, "N-SPAA"), 1)
    text = flat(str(story))
    assert "00:20 It shrank from 10 to 8 nodes" in text
    assert "00:25 It expanded from 8 to 10 nodes" in text
    assert "00:30 Its size then changed 10 more times, between 8 and 10 nodes." in text
    assert "01:25 It expanded from 8 to 10 nodes: on-demand job 8 gave 2 nodes back." in text
    assert story.at_length().count("It shrank from 10 to 8") == 7


# -- what is not known ------------------------------------------------------------------------------------------


def test_what_is_not_understood_is_shown_as_it_is() -> None:
    result = simulate(QUEUE, 10, decisions=True)
    entries = list(result.entries)
    place = next(place for place, entry in enumerate(entries) if entry.event == "complete" and entry.job_id == 2)
    entries.insert(place, Entry(entries[place].time, "blink", 2, 8, 8, "the lights went out"))
    start = next(place for place, entry in enumerate(entries) if entry.event == "start" and entry.job_id == 2)
    entries[start] = entries[start]._replace(cause="by royal decree")
    text = flat(str(explain(replace(result, entries=entries), 2)))
    assert "01:10 The log says: blink, 8 to 8 nodes (the lights went out)." in text
    assert "It started on 8 nodes (by royal decree), 20 min earlier than first promised." in text


@pytest.mark.parametrize(
    "text", ["in order", "for 7", "planned for 7", "7 arrived", "returned by 7", "warning over", ""]
)
def test_causes_keep_their_text(text: str) -> None:
    cause = parse_cause(text)
    assert cause.text == text
    assert cause.kind != "other"
    assert cause.job_id == (7 if "7" in text else None)


def test_without_decisions_a_story_says_what_it_does_not_know() -> None:
    text = flat(str(explain(simulate(PREEMPT, 10, "N-PAA"), 2)))
    assert "promised" not in text.replace("What was promised", "")
    assert "spared" not in text and "next best" not in text
    assert "some of which on-demand job 3 gave back" in text
    assert "Job 2 (preempted) made room." in str(explain(simulate(PREEMPT, 10, "N-PAA"), 3))
    assert text.endswith("were not recorded with this run; 'holdfast run --events' records them.")
    with pytest.raises(InputError, match="has no event log"):
        explain(simulate(PREEMPT, 10, "N-PAA", events=False), 2)


def test_an_unknown_job_gets_the_nearest_ids() -> None:
    with pytest.raises(InputError, match=r"^there is no job 9; the nearest ids are 3, 4, 5$"):
        explain(simulate(QUEUE, 10), 9)


def test_times_are_dates_where_the_trace_has_an_epoch() -> None:
    jobs = [replace(job, submit=(job.submit or 0) + 1_641_024_000) for job in QUEUE]  # 2022-01-01 08:00
    text = job_story(jobs, "baseline", 5)
    assert "Times are UTC." in text
    assert "2022-01-01 08:05  It was submitted behind job 2" in text
    assert "2022-01-01 08:40 It was now first in the queue, and it was promised a start by 09:10." in flat(text)
    stories = Stories(replace(simulate(QUEUE, 10), epoch=86400.0))
    assert "1970-01-02 00:05  It was submitted behind" in str(stories.story(5))


def test_long_lists_are_cut_unless_all_is_asked_for() -> None:
    # One job holds the machine; 12 wait before the last one.
    jobs = [rigid(1, 0, 10, 60 * MINUTE), *(rigid(number, 60.0, 10, 600.0) for number in range(2, 15))]
    story = explain(simulate(jobs, 10, decisions=True), 14)
    assert "behind 12 jobs (2, 3, 4, 5, 6 and 7 more), which asked for 120 nodes together" in flat(str(story))
    assert "behind 12 jobs (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 13), which" in flat(story.at_length())


# -- decisions --------------------------------------------------------------------------------------------------


def test_decisions_leave_everything_else_as_it_was() -> None:
    for mechanism in ("baseline", "N-PAA", "CUA-SPAA", "CUP-SPAA"):
        jobs = [*TENANT, *(replace(job, job_id=job.job_id + 10) for job in (*SHRINK, PREEMPT[2]))]
        with_them = simulate(jobs, 10, mechanism, decisions=True)
        without = simulate(jobs, 10, mechanism)
        assert without.decisions is None
        assert with_them.decisions
        assert (with_them.entries, with_them.records) == (without.entries, without.records)
        assert with_them.samples == without.samples


def test_decisions_of_a_preemption() -> None:
    result = simulate(PREEMPT, 10, "N-PAA", decisions=True)
    minutes = 60_000_000
    assert result.decisions == [
        Decision(20 * minutes, "lacking", 3, nodes=3),
        Decision(20 * minutes, "room", 3, nodes=8),
        Decision(20 * minutes, "victim", 2, 3, nodes=4, loss=60 * minutes),
        Decision(20 * minutes, "spared", 1, 3, nodes=4, loss=80 * minutes),
        Decision(20 * minutes, "lend", 2, 3, nodes=3),
        Decision(20 * minutes, "promise", 2, at=30 * minutes),
        Decision(30 * minutes, "return", 2, 3, nodes=3),
    ]


class Unkind:
    """Takes who would lose most, and says so."""

    def room(self, view: SystemView, request: Request) -> int:
        return PreemptAtArrival().room(view, request)

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        victim = max(view.running, key=lambda run: (run.loss(view.now), run.job_id))
        return [Preempt(victim.job_id, reason="it had it coming")]


class Chatty:
    """EASY that explains itself, and promises nothing."""

    def __call__(self, view: SystemView) -> list[Start]:
        return [replace(start, reason=f"{view.free} nodes were free") for start in Easy()(view)]


@pytest.fixture
def plugins() -> Iterator[None]:
    ARRIVALS.add("unkind", Unkind())
    BACKFILLING.add("chatty", Chatty())
    yield
    ARRIVALS.forget("unkind")
    BACKFILLING.forget("chatty")


def test_a_plugin_gives_its_reasons_and_is_judged_by_the_losses(plugins: None) -> None:
    text = job_story(PREEMPT, "N-unkind", 1, backfilling="chatty")
    assert (
        """\
00:20  It was preempted on 4 nodes to make room for on-demand job 3, which had
       arrived. It lost 1.33 node-hours, as this run had written no checkpoint.
       Job 2, which was spared, would have lost less: 1 node-hour. The policy
       says: it had it coming."""
        in text
    )
    assert "It started at once on 4 nodes, in its turn. The policy says: 10 nodes were free." in flat(text)
    assert "promised" not in text


def test_a_failure_and_a_window_appear_under_their_names() -> None:
    from holdfast.workloads.outages.outage import Outage, OutageKind

    # Five nodes fail at 10 under job 1. Job 2 waits for the window from 40 to 60 to be over, though all nodes are free.
    jobs = [rigid(1, 0, 5, 20 * MINUTE), rigid(2, 35 * MINUTE, 10, 20 * MINUTE)]
    outages = [
        Outage(OutageKind.FAILURE, 10 * MINUTE, 20 * MINUTE, 5, place=0.5),
        Outage(OutageKind.MAINTENANCE, 40 * MINUTE, 60 * MINUTE, 10, name="monthly"),
    ]
    first = flat(job_story(jobs, "baseline", 1, outages=outages))
    assert "00:10 It was preempted on 5 nodes (failure 1). It lost 0.833 node-hours" in first
    second = flat(job_story(jobs, "baseline", 2, outages=outages))
    assert "20 min Fewer than 10 nodes were idle. 100 % of the machine was out of service." in second
    assert "5 min At least 10 nodes were free and it was first in the queue, but an announced outage" in second

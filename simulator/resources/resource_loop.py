"""Replay of rigid jobs on named nodes with resource vectors, as one loop over integers.

The rules are those of docs/reference/machines.md. There is one plain source, which is compiled for long replays
(:func:`policies.kernels.compiled_or_plain.compiled_loop`). Jobs are numbered in the order of their arrivals.
"""

from __future__ import annotations

from simulator.resources.node_choice import place

__all__ = ["ALL", "COMING", "DONE", "FULL", "KINDS", "NOW", "PAUSED", "STATES", "STUCK", "replay_resources"]

#: How a replay ended: all jobs have started; a job can never start; there is no room for another reservation; the
#: waiting jobs are to be sorted.
DONE, STUCK, FULL, PAUSED = 0, 1, 2, 3
#: Places in the state, and their number: how many jobs have come, and the time of the pass.
COMING, NOW, STATES = 4, 8, 11
#: As many reservations as there are waiting jobs.
ALL = 1 << 40
#: What the arguments of :func:`replay_resources` are (:func:`policies.kernels.compiled_or_plain.compiled_loop`).
KINDS = 10 * "n" + 64 * "a"


def replay_resources(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer, from lists and arrays alike
    count, nodes, resources, partitions, needs, depth, placement, tolerance, most_heads,
    pauses, arrivals, walltimes, runtimes, ranks,
    job_first, job_options,
    option_need, option_first, option_accounts,
    need_partition, need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector, need_last,
    need_base, need_total, eligible,
    capacities, weights, by_name, memories,
    account_most, account_used,
    starts, option_of, taken_first, taken_count, taken_node, taken_amount, stopped,
    instants, stranded,
    after, before, by_end, by_limit, ends, limits, frees, head_time, head_end, plan_first, plan_count, plan_node,
    plan_amount, head_job, head_need, blocked, failed, judged, judgements, least, load, fitting, chosen, chosen_amount,
    nets, twins, tried, refused, state,
):  # fmt: skip
    """Simulate until all jobs have started and ended.

    ``depth`` is how many waiting jobs of a partition hold reservations: 0, and the first that cannot start blocks its
    partition. Job j has ``job_options[j]`` options from ``job_first[j]`` on, one for each partition; an option has a
    need and, from ``option_first`` to that of the next one, the accounts of its limits in ``option_accounts``.
    Amounts of accounts are running jobs, nodes, cores, memory and GPUs; -1 in ``account_most`` is no limit.

    Results: ``starts``; ``option_of``; the nodes of a job from ``taken_first`` on, ``taken_count`` of them, in
    ``taken_node`` and ``taken_amount``; ``stopped``, the account that last stopped a job (-1: none). ``instants`` are
    the times of passes, and ``stranded`` the amounts that were stranded from each on. ``state`` gets how it ended, how
    many instants there were, how many entries of nodes were written, and how many heads there were at once.

    With ``pauses`` it returns before each pass: the list of waiting jobs in ``after`` and ``before`` (whose head is
    ``count``) may then be sorted, and the next call with the same arguments goes on, after ``state[0]`` was set to 0.

    The others are buffers.
    """
    # A compiler makes a function of its own for each constant that it is given.
    nought = state[0]
    one = nought + 1
    never = 1 << 62
    width = nodes * resources
    top = count
    passes = state[1]
    entries = state[2]
    top_heads = state[3]
    coming = state[4]
    runs = state[5]
    # Grows when resources become free, and when they are taken.
    released = state[6]
    changed = state[7]
    resumed = state[9]
    # Grows with each pass and each start, which make what is known about the plan untrue.
    version = state[10]
    # The row of the plan's first reservation in the free amounts at the begin of each; there is room for two plans.
    net = nought
    if resumed == 0:
        after[top] = top
        before[top] = top
        for node in range(nodes):
            for kind in range(resources):
                frees[node * resources + kind] = capacities[node * resources + kind]
                load[node * resources + kind] = 0
        for need in range(needs):
            failed[need] = -1
            judged[need] = -1
            tried[3 * need] = -1
            refused[2 * need] = -1
    while coming < count or runs > 0 or resumed == 1:
        now = state[8]
        if resumed == 0:
            now = never
            if coming < count:
                now = arrivals[coming]
            if runs > 0 and ends[by_end[runs - 1]] < now:
                now = ends[by_end[runs - 1]]

        # Runs end.
        while runs > 0 and ends[by_end[runs - 1]] <= now:
            runs -= 1
            job = by_end[runs]
            spot = 0
            while by_limit[spot] != job:
                spot += 1
            while spot < runs:
                by_limit[spot] = by_limit[spot + 1]
                spot += 1
            option = option_of[job]
            for entry in range(taken_first[job], taken_first[job] + taken_count[job]):
                for kind in range(resources):
                    frees[taken_node[entry] * resources + kind] += taken_amount[entry * resources + kind]
            for spot in range(option_first[option], option_first[option + 1]):
                account = option_accounts[spot] * 5
                account_used[account] -= 1
                account_used[account + 1] -= taken_count[job]
                for entry in range(taken_first[job], taken_first[job] + taken_count[job]):
                    for kind in range(3):
                        if kind != 1 or memories[taken_node[entry]] == 1:
                            account_used[account + 2 + kind] -= taken_amount[entry * resources + kind]
            released += 1
            changed += 1
        # Jobs arrive.
        while coming < count and arrivals[coming] <= now:
            last = before[top]
            while last != top and ranks[last] > ranks[coming]:
                last = before[last]
            following = after[last]
            after[last] = coming
            before[coming] = last
            after[coming] = following
            before[following] = coming
            coming += 1
        if pauses == 1 and resumed == 0:
            state[0] = 3
            state[1] = passes
            state[2] = entries
            state[3] = top_heads
            state[4] = coming
            state[5] = runs
            state[6] = released
            state[7] = changed
            state[8] = now
            state[9] = 1
            state[10] = version
            return
        resumed = nought

        # A pass.
        version += 1
        heads = 0
        plans = 0
        for partition in range(partitions):
            blocked[partition] = 0
        job = after[top]
        while job != top:
            following = after[job]
            started = -1
            waits = 0
            found = 0
            best = -1
            best_time = never
            # Each partition of the job, and at last the earliest time at which it can start beside the heads.
            for choice in range(job_options[job] + 1):
                option = job_first[job] + choice
                need = 0
                account = -1
                if choice < job_options[job]:
                    need = option_need[option]
                    partition = need_partition[need]
                    # What the job asks for, before it is known where.
                    for spot in range(option_first[option], option_first[option + 1]):
                        for kind in range(5):
                            most = account_most[option_accounts[spot] * 5 + kind]
                            used = account_used[option_accounts[spot] * 5 + kind] + need_total[need * 5 + kind]
                            if most >= 0 and used > most and account < 0:
                                account = option_accounts[spot]
                    if account >= 0:
                        stopped[job] = account
                        continue
                    if depth == 0 and blocked[partition] > 0:
                        continue
                    found = 0
                    if failed[need] != released:
                        found = place(  # type: ignore[no-untyped-call]
                            need, nought, now, walltimes[job], nought, tolerance, tolerance, nought, nodes, resources,
                            placement, need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector,
                            need_last, need_base, eligible, capacities, weights, by_name, frees, head_time, head_end,
                            plan_first, plan_count, plan_node, plan_amount, net,
                            nets, twins, least, load, fitting, chosen,
                            chosen_amount,
                        )  # fmt: skip
                    if found == 0:
                        # It cannot be placed until more resources are released: less is free later in this pass.
                        failed[need] = released
                        if blocked[partition] < depth or depth == 0:
                            chosen[nodes + waits] = option
                            waits += 1
                        continue
                else:
                    if waits == 0 or depth == 0:
                        continue
                    if heads == most_heads:
                        state[0] = 2
                        return
                    slot = heads + 1
                    for turn in range(waits):
                        option = chosen[nodes + turn]
                        need = option_need[option]
                        for spot in range(width):
                            frees[slot * width + spot] = frees[spot]
                        release = 0
                        time = now
                        if tried[3 * need] == version and tried[3 * need + 1] <= walltimes[job]:
                            # No time before the one at which such a job stopped will do for this one.
                            time = tried[3 * need + 2]
                            while release < runs and limits[by_limit[release]] <= time:
                                other = by_limit[release]
                                for entry in range(taken_first[other], taken_first[other] + taken_count[other]):
                                    for kind in range(resources):
                                        spot = slot * width + taken_node[entry] * resources + kind
                                        frees[spot] += taken_amount[entry * resources + kind]
                                release += 1
                        while time < best_time:
                            found = place(  # type: ignore[no-untyped-call]
                                need, slot, time, walltimes[job], heads, nought, tolerance, one, nodes, resources,
                                placement, need_first, need_eligible, need_nodes, need_tasks, need_exclusive,
                                need_vector, need_last, need_base, eligible, capacities, weights, by_name, frees,
                                head_time, head_end, plan_first, plan_count, plan_node, plan_amount, net,
                                nets, twins, least, load,
                                fitting, chosen, chosen_amount,
                            )  # fmt: skip
                            if found > 0:
                                best = option
                                best_time = time
                                break
                            # The next end of a walltime, or of a planned head.
                            later = never
                            if release < runs:
                                later = limits[by_limit[release]]
                            for head in range(heads):
                                if head_end[head] > time and head_end[head] < later:
                                    later = head_end[head]
                            time = later
                            while release < runs and limits[by_limit[release]] <= time:
                                other = by_limit[release]
                                for entry in range(taken_first[other], taken_first[other] + taken_count[other]):
                                    for kind in range(resources):
                                        spot = slot * width + taken_node[entry] * resources + kind
                                        frees[spot] += taken_amount[entry * resources + kind]
                                release += 1
                        tried[3 * need] = version
                        tried[3 * need + 1] = walltimes[job]
                        tried[3 * need + 2] = time
                    if best < 0:
                        state[0] = 1
                        state[1] = job
                        return
                    # The nodes that it will have: what ends a moment after that time counts as ended.
                    option = best
                    need = option_need[best]
                    for spot in range(width):
                        frees[slot * width + spot] = frees[spot]
                    for release in range(runs):
                        other = by_limit[release]
                        if best_time > now and limits[other] <= best_time + tolerance:
                            for entry in range(taken_first[other], taken_first[other] + taken_count[other]):
                                for kind in range(resources):
                                    spot = slot * width + taken_node[entry] * resources + kind
                                    frees[spot] += taken_amount[entry * resources + kind]
                    found = place(  # type: ignore[no-untyped-call]
                        need, slot, best_time, walltimes[job], heads, tolerance, tolerance, nought, nodes, resources,
                        placement, need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector,
                        need_last, need_base, eligible, capacities, weights, by_name, frees, head_time, head_end,
                        plan_first, plan_count, plan_node, plan_amount, net,
                        nets, twins, least, load, fitting, chosen, chosen_amount,
                    )  # fmt: skip
                    if best_time > now:
                        continue

                # What it would get now.
                for spot in range(option_first[option], option_first[option + 1]):
                    for kind in range(5):
                        amount = 1
                        if kind == 1:
                            amount = found
                        if kind > 1:
                            amount = 0
                            for entry in range(found):
                                if kind != 3 or memories[chosen[entry]] == 1:
                                    amount += chosen_amount[entry * resources + kind - 2]
                        most = account_most[option_accounts[spot] * 5 + kind]
                        used = account_used[option_accounts[spot] * 5 + kind] + amount
                        if most >= 0 and used > most and account < 0:
                            account = option_accounts[spot]
                if account >= 0:
                    stopped[job] = account
                    if choice == job_options[job]:
                        waits = 0
                    continue
                # It is written down, and stays so if all heads can still be placed, in order, at their times.
                limit = now + walltimes[job]
                for entry in range(found):
                    taken_node[entries + entry] = chosen[entry]
                    for kind in range(resources):
                        amount = chosen_amount[entry * resources + kind]
                        taken_amount[(entries + entry) * resources + kind] = amount
                        frees[chosen[entry] * resources + kind] -= amount
                        for head in range(heads):
                            if limit > head_time[head] + tolerance:
                                frees[(head + 1) * width + chosen[entry] * resources + kind] -= amount
                # Heads before the first that it overlaps keep their nodes.
                begin = 0
                while begin < heads and limit <= head_time[begin] + tolerance:
                    begin += 1
                kept = 1
                fresh = plans
                if (
                    choice < job_options[job]
                    and refused[2 * need] == version
                    and refused[2 * need + 1] == walltimes[job]
                ):
                    # An equal job was refused these nodes because of heads that are still there.
                    kept = 0
                following_net = most_heads - net
                if kept == 1 and begin < heads:
                    for head in range(heads):
                        for spot in range(width):
                            nets[(following_net + head) * width + spot] = frees[(head + 1) * width + spot]
                    for head in range(begin):
                        for point in range(heads):
                            if head_time[head] <= head_time[point] and head_end[head] > head_time[point] + tolerance:
                                for entry in range(plan_first[head], plan_first[head] + plan_count[head]):
                                    spot = (following_net + point) * width + plan_node[entry] * resources
                                    for kind in range(resources):
                                        nets[spot + kind] -= plan_amount[entry * resources + kind]
                for head in range(begin, heads):
                    # To go back to.
                    plan_first[most_heads + head] = plan_first[head]
                    plan_count[most_heads + head] = plan_count[head]
                for head in range(begin, heads):
                    if kept == 1:
                        got = place(  # type: ignore[no-untyped-call]
                            head_need[head], head + 1, head_time[head], head_end[head] - head_time[head], head,
                            tolerance, tolerance, nought, nodes, resources, placement, need_first, need_eligible,
                            need_nodes, need_tasks, need_exclusive, need_vector, need_last, need_base, eligible,
                            capacities, weights, by_name, frees, head_time, head_end, plan_first, plan_count,
                            plan_node, plan_amount, following_net,
                            nets, twins, least, load, fitting, chosen, chosen_amount,
                        )  # fmt: skip
                        if got == 0:
                            kept = 0
                        else:
                            plan_first[head] = fresh
                            plan_count[head] = got
                            for entry in range(got):
                                plan_node[fresh] = chosen[entry]
                                for kind in range(resources):
                                    plan_amount[fresh * resources + kind] = chosen_amount[entry * resources + kind]
                                fresh += 1
                            for point in range(heads):
                                when = head_time[point]
                                if head_time[head] <= when and head_end[head] > when + tolerance:
                                    for entry in range(fresh - got, fresh):
                                        spot = (following_net + point) * width + plan_node[entry] * resources
                                        for kind in range(resources):
                                            nets[spot + kind] -= plan_amount[entry * resources + kind]
                if kept == 1:
                    if begin < heads:
                        net = following_net
                        # The new plan takes the place of the former one.
                        gone = plans - plan_first[most_heads + begin]
                        for entry in range(plans, fresh):
                            plan_node[entry - gone] = plan_node[entry]
                            for kind in range(resources):
                                spot = (entry - gone) * resources + kind
                                plan_amount[spot] = plan_amount[entry * resources + kind]
                        for head in range(begin, heads):
                            plan_first[head] -= gone
                        plans = fresh - gone
                    started = option
                    break
                if choice < job_options[job]:
                    refused[2 * need] = version
                    refused[2 * need + 1] = walltimes[job]
                for head in range(begin, heads):
                    plan_first[head] = plan_first[most_heads + head]
                    plan_count[head] = plan_count[most_heads + head]
                for entry in range(entries, entries + found):
                    for kind in range(resources):
                        amount = taken_amount[entry * resources + kind]
                        frees[taken_node[entry] * resources + kind] += amount
                        for head in range(heads):
                            if limit > head_time[head] + tolerance:
                                frees[(head + 1) * width + taken_node[entry] * resources + kind] += amount
                if choice < job_options[job]:
                    if blocked[partition] < depth or depth == 0:
                        chosen[nodes + waits] = option
                        waits += 1
                else:
                    # The nodes of its plan, which the heads before it have just been placed beside.
                    for entry in range(found):
                        chosen[entry] = taken_node[entries + entry]
                        for kind in range(resources):
                            spot = entry * resources + kind
                            chosen_amount[spot] = taken_amount[(entries + entry) * resources + kind]

            if started < 0 and waits > 0:
                for spot in range(waits):
                    blocked[need_partition[option_need[chosen[nodes + spot]]]] += 1
                if depth > 0:
                    head_time[heads] = best_time
                    head_end[heads] = best_time + walltimes[job]
                    head_job[heads] = job
                    head_need[heads] = option_need[best]
                    plan_first[heads] = plans
                    plan_count[heads] = found
                    for entry in range(found):
                        plan_node[plans] = chosen[entry]
                        for kind in range(resources):
                            plan_amount[plans * resources + kind] = chosen_amount[entry * resources + kind]
                        plans += 1
                    # What is free at its begin beside all reservations, and at the begin of each beside it.
                    here = (net + heads) * width
                    for spot in range(width):
                        nets[here + spot] = frees[(heads + 1) * width + spot]
                    twins[heads] = 0
                    for head in range(heads):
                        if head_time[head] == best_time:
                            twins[heads] = 1
                        if head_time[head] <= best_time and head_end[head] > best_time + tolerance:
                            for entry in range(plan_first[head], plan_first[head] + plan_count[head]):
                                for kind in range(resources):
                                    spot = here + plan_node[entry] * resources + kind
                                    nets[spot] -= plan_amount[entry * resources + kind]
                    for point in range(heads + 1):
                        if best_time <= head_time[point] and head_end[heads] > head_time[point] + tolerance:
                            for entry in range(plans - found, plans):
                                spot = (net + point) * width + plan_node[entry] * resources
                                for kind in range(resources):
                                    nets[spot + kind] -= plan_amount[entry * resources + kind]
                    heads += 1

            if started >= 0:
                version += 1
                starts[job] = now
                option_of[job] = started
                taken_first[job] = entries
                taken_count[job] = found
                entries += found
                ends[job] = now + runtimes[job]
                limits[job] = now + walltimes[job]
                spot = runs
                while spot > 0 and ends[by_end[spot - 1]] < ends[job]:
                    by_end[spot] = by_end[spot - 1]
                    spot -= 1
                by_end[spot] = job
                spot = runs
                while spot > 0 and limits[by_limit[spot - 1]] > limits[job]:
                    by_limit[spot] = by_limit[spot - 1]
                    spot -= 1
                by_limit[spot] = job
                runs += 1
                for spot in range(option_first[started], option_first[started + 1]):
                    account = option_accounts[spot] * 5
                    account_used[account] += 1
                    account_used[account + 1] += found
                    for entry in range(taken_first[job], taken_first[job] + found):
                        for kind in range(3):
                            if kind != 1 or memories[taken_node[entry]] == 1:
                                account_used[account + 2 + kind] += taken_amount[entry * resources + kind]
                after[before[job]] = following
                before[following] = before[job]
                changed += 1
            job = following
        if heads > top_heads:
            top_heads = heads

        # What is stranded until the next instant: free in all where the first such job wants it, and of no use to it.
        instants[passes] = now
        for kind in range(resources):
            stranded[passes * resources + kind] = 0
        job = after[top]
        while job != top:
            answer = 0
            for option in range(job_first[job], job_first[job] + job_options[job]):
                need = option_need[option]
                account = 0
                for spot in range(option_first[option], option_first[option + 1]):
                    for kind in range(5):
                        most = account_most[option_accounts[spot] * 5 + kind]
                        used = account_used[option_accounts[spot] * 5 + kind] + need_total[need * 5 + kind]
                        if most >= 0 and used > most:
                            account = 1
                if account == 1:
                    continue
                if judged[need] != changed:
                    judged[need] = changed
                    judgements[need] = 1
                    for kind in range(resources):
                        wanted = need_vector[need * resources + kind]
                        if need_tasks[need] > 0:
                            wanted = (
                                need_tasks[need] * wanted
                                + need_total[need * 5 + 1] * need_base[need * resources + kind]
                            )
                        else:
                            wanted = (need_nodes[need] - 1) * wanted + need_last[need * resources + kind]
                        total = 0
                        for spot in range(need_first[need], need_first[need] + need_eligible[need]):
                            total += frees[eligible[spot] * resources + kind]
                        if total < wanted:
                            judgements[need] = 0
                    if judgements[need] == 1 and failed[need] != released:
                        fits = place(  # type: ignore[no-untyped-call]
                            need, nought, now, one, nought, tolerance, tolerance, one, nodes, resources, placement,
                            need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector, need_last,
                            need_base, eligible, capacities, weights, by_name, frees, head_time, head_end, plan_first,
                            plan_count, plan_node, plan_amount, net,
                            nets, twins, least, load, fitting, chosen, chosen_amount,
                        )  # fmt: skip
                        if fits > 0:
                            judgements[need] = 0
                if judgements[need] == 1:
                    answer = 1
                    for spot in range(need_first[need], need_first[need] + need_eligible[need]):
                        for kind in range(resources):
                            if need_vector[need * resources + kind] + need_base[need * resources + kind] > 0:
                                stranded[passes * resources + kind] += frees[eligible[spot] * resources + kind]
                    break
            if answer == 1:
                break
            job = after[job]
        passes += 1
    state[0] = 0
    state[1] = passes
    state[2] = entries
    state[3] = top_heads


#: Twenty seconds, which only long replays are worth (:func:`workloads.ground.object_code.object_code`).
replay_resources.slow_to_compile = True  # type: ignore[attr-defined]

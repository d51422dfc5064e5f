"""The loops of the planner: one plain-Python source, which numba also compiles for large plans.

The functions below use only loops, numbers and indexing, and run by
:func:`holdfast.policies.kernels.compiled_or_plain.run`. They allocate nothing; the caller passes the buffers. The
arrays of values have the length n + 1. docs/planner.md describes the algorithm and proves it. Throughout, index 0 means
"no work done yet", with value 0 and survival 1; values ascend strictly; and the checkpoint cost at the last value n is
0, because a checkpoint there saves nothing. Lines are given by slope and intercept (m, b); a lower envelope is
evaluated at x = survival.

Each loop contains its own copy of the code that inserts a line and evaluates the envelope: as functions, these would
slow down the plain source by up to a third, and numba would have to compile them, too.
"""

from __future__ import annotations

__all__ = ["CHAIN", "STEPS", "SWEEP", "chain", "chain_any", "sweep"]

#: What the arguments of :func:`sweep`, and of the two others, are
#: (:func:`holdfast.workloads.ground.object_code.object_code`).
SWEEP, CHAIN = "nffffdddnnnnffaaaffaffa", "nffffdddfaffan"
#: Inner steps here that take as long as one step of a replay of jobs.
STEPS = 16


def sweep(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer, from lists and arrays alike
    n, v, s, ckpt, restart, alpha, beta, gamma, top, bottom, known, monotone,
    diagonal, second, second_at, following, saved, m, b, at, m2, b2, at2,
):  # fmt: skip
    """Compute rows c = top, ..., bottom of the recurrence: the expected cost after a checkpoint at c.

    Sets ``diagonal[c]`` = E(c, c) and, unless ``known``, ``second[c]`` and ``second_at[c]``: the value, without the
    terms of row c, and the milestone of the best next checkpointed reservation. After the call, ``following[l]`` and
    ``saved[l]`` contain the choices of the last row: the next milestone after l, and whether it is checkpointed.
    ``monotone``: the restart cost is constant.
    """
    head2 = 0
    tail2 = 0
    for c in range(top, bottom - 1, -1):
        if not known:
            x = s[c]
            j = c + 1
            best = 0.0
            where = j
            if monotone:
                # Insert the line of j = c + 1 into the envelope that is common to all rows.
                slope = alpha * (v[j] + ckpt[j])
                height = diagonal[j] + beta * ckpt[j] * s[j]
                # A line with a slope at least that of its predecessor is above it everywhere.
                if tail2 == head2 or slope < m2[tail2 - 1]:
                    while tail2 - head2 >= 2 and (height - b2[tail2 - 2]) * (m2[tail2 - 2] - m2[tail2 - 1]) <= (
                        b2[tail2 - 1] - b2[tail2 - 2]
                    ) * (m2[tail2 - 2] - slope):
                        tail2 -= 1
                    m2[tail2] = slope
                    b2[tail2] = height
                    at2[tail2] = j
                    tail2 += 1
                best = m2[head2] * x + b2[head2]
                # The comparison is strict, so that the largest milestone is kept among equal costs.
                while tail2 - head2 >= 2:
                    other = m2[head2 + 1] * x + b2[head2 + 1]
                    if other >= best:
                        break
                    head2 += 1
                    best = other
                where = at2[head2]
            else:
                where = n
                best = alpha * v[n] * x
                for j in range(n - 1, c, -1):
                    other = alpha * (v[j] + ckpt[j]) * x + diagonal[j] + beta * ckpt[j] * s[j]
                    if other < best:
                        best = other
                        where = j
            second[c] = best
            second_at[c] = where
        # Row c: E(c, l) for l = n - 1, ..., c; only the envelope and the last value are stored.
        fixed = alpha * (restart[c] - v[c]) + beta * restart[c] + gamma
        start = v[c]
        head = 0
        tail = 0
        value = 0.0
        for l in range(n - 1, c - 1, -1):  # noqa: E741 # the paper's index
            x = s[l]
            j = l + 1
            slope = alpha * v[j]
            height = value + beta * (v[j] - start) * s[j]
            while tail - head >= 2 and (height - b[tail - 2]) * (m[tail - 2] - m[tail - 1]) <= (
                b[tail - 1] - b[tail - 2]
            ) * (m[tail - 2] - slope):
                tail -= 1
            m[tail] = slope
            b[tail] = height
            at[tail] = j
            tail += 1
            best = m[head] * x + b[head]
            while tail - head >= 2:
                other = m[head + 1] * x + b[head + 1]
                if other >= best:
                    break
                head += 1
                best = other
            where = at[head]
            mark = 0
            if second[l] < best or (second[l] == best and second_at[l] > where):
                best = second[l]
                where = second_at[l]
                mark = 1
            value = fixed * x + best
            following[l] = where
            saved[l] = mark
        diagonal[c] = value


def chain(  # type: ignore[no-untyped-def] # as above
    n, v, s, ckpt, restart, alpha, beta, gamma, diagonal, following, m, b, at, size,
):  # fmt: skip
    """Every reservation is checkpointed, the restart cost does not vary: E(c, c) for all c in O(n)."""
    head = 0
    tail = 0
    diagonal[n] = 0.0
    for c in range(n - 1, -1, -1):
        x = s[c]
        j = c + 1
        slope = alpha * (v[j] + ckpt[j])
        height = diagonal[j] + beta * ckpt[j] * s[j]
        if tail == head or slope < m[tail - 1]:
            while tail - head >= 2 and (height - b[tail - 2]) * (m[tail - 2] - m[tail - 1]) <= (
                b[tail - 1] - b[tail - 2]
            ) * (m[tail - 2] - slope):
                tail -= 1
            m[tail] = slope
            b[tail] = height
            at[tail] = j
            tail += 1
        best = m[head] * x + b[head]
        while tail - head >= 2:
            other = m[head + 1] * x + b[head + 1]
            if other >= best:
                break
            head += 1
            best = other
        following[c] = at[head]
        diagonal[c] = (alpha * (restart[c] - v[c]) + beta * restart[c] + gamma) * x + best


def chain_any(  # type: ignore[no-untyped-def] # as above
    n, v, s, ckpt, restart, alpha, beta, gamma, diagonal, following, m, b, node, size,
):  # fmt: skip
    """As :func:`chain` where the restart cost varies: lines arrive in any order, kept in a Li Chao tree, O(n log n).

    ``node`` has the line of each node of a heap over the n queries, 0 for an empty node; shape (2 size,), where size is
    the smallest power of two that is at least n.
    """
    for k in range(2 * size):
        node[k] = 0
    diagonal[n] = 0.0
    for c in range(n - 1, -1, -1):
        # Insert the line of j = c + 1; the queries, by index, have falling x = s[index].
        new = c + 1
        m[new] = alpha * (v[new] + ckpt[new])
        b[new] = diagonal[new] + beta * ckpt[new] * s[new]
        low = 0
        high = size - 1
        k = 1
        while k < 2 * size:
            old = node[k]
            if old == 0:
                node[k] = new
                break
            middle = (low + high) // 2
            x = s[min(middle, n - 1)]
            # The node keeps the line that is lower at the middle; at equal values the one with the larger milestone.
            one = m[new] * x + b[new]
            two = m[old] * x + b[old]
            if one < two or (one == two and new > old):
                node[k] = new
                new, old = old, new
            # The other line can be lower only on one side: with a larger slope at smaller x, which have higher indices.
            if m[new] > m[old]:
                low = middle + 1
                k = 2 * k + 1
            elif m[new] < m[old]:
                high = middle
                k = 2 * k
            else:
                break
        x = s[c]
        where = 0
        best = 0.0
        k = c + size
        while k >= 1:
            j = node[k]
            if j != 0:
                other = m[j] * x + b[j]
                if where == 0 or other < best or (other == best and j > where):
                    best = other
                    where = j
            k //= 2
        following[c] = where
        diagonal[c] = (alpha * (restart[c] - v[c]) + beta * restart[c] + gamma) * x + best

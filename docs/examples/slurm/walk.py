"""A random walk until it leaves an interval: a program of unknown runtime that cannot be saved.

``python walk.py DISTANCE SEED [PACE]`` walks by steps of one until it is DISTANCE away from its start. PACE makes each
million steps take that many seconds, to try a sequence of reservations with a short walk.

The protocol of ``holdfast submit`` asks nothing of it: exit status 0 is "done", and after a reservation that was too
short the next one starts it again from the beginning.
"""

import sys
import time

import numpy as np

STEPS = 1_000_000


def main(distance, seed, pace):
    random = np.random.default_rng(seed)
    place = steps = 0
    while True:
        began = time.monotonic()
        path = place + np.cumsum(2 * random.integers(0, 2, STEPS, dtype=np.int64) - 1)
        out = np.flatnonzero(abs(path) >= distance)
        if out.size:
            print(f"left the interval after {steps + int(out[0]) + 1:,} steps", flush=True)
            return 0
        place, steps = int(path[-1]), steps + STEPS
        time.sleep(max(0.0, pace - (time.monotonic() - began)))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0.0))

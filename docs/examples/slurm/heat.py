"""Heat on a square plate, until it settles: a program that checkpoints when it is told to, and goes on from there.

``python heat.py SIZE SEED [PACE]`` relaxes a plate of SIZE x SIZE points with random sources until no point changes by
more than a millionth. How many sweeps this takes depends on the sources, so that the runtime is not known before. PACE
makes each hundred sweeps take that many seconds, to try a sequence of reservations with a small plate.

The protocol of ``holdfast submit``: on SIGUSR1 the state is written and the exit status is 85; at the end it is 0.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

SWEEPS = 100
signals = []
signal.signal(signal.SIGUSR1, lambda *_: signals.append(True))


def relax(plate, sources):
    """A hundred sweeps; the plate after them and the largest change of the last one."""
    for _ in range(SWEEPS):
        before = plate
        plate = sources.copy()
        plate[1:-1, 1:-1] += (before[:-2, 1:-1] + before[2:, 1:-1] + before[1:-1, :-2] + before[1:-1, 2:]) / 4
    return plate, float(abs(plate - before).max())


def save(path, plate, sweeps):
    """Write the state beside the old one and rename it: a kill in between leaves the old one."""
    new = path.with_name(f"{path.name}.new.npz")
    np.savez(new, plate=plate, sweeps=sweeps)
    new.replace(path)


def main(size, seed, pace):
    state = Path(os.environ.get("HOLDFAST_STATE", "heat.state")).with_suffix(".npz")
    random = np.random.default_rng(seed)
    sources = np.zeros((size, size))
    sources[1:-1, 1:-1] = random.exponential(random.lognormal(0.0, 4.0), (size - 2, size - 2))
    plate, sweeps = np.zeros((size, size)), 0
    if state.exists():
        with np.load(state) as saved:
            plate, sweeps = saved["plate"], int(saved["sweeps"])
        print(f"goes on after {sweeps:,} sweeps", flush=True)
    change = np.inf
    while change > 1e-6:
        if signals:
            save(state, plate, sweeps)
            print(f"saved after {sweeps:,} sweeps", flush=True)
            return 85
        began = time.monotonic()
        plate, change = relax(plate, sources)
        sweeps += SWEEPS
        time.sleep(max(0.0, pace - (time.monotonic() - began)))
    print(f"settled after {sweeps:,} sweeps; mean temperature {plate.mean():.6f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0.0))

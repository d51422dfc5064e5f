"""How fast the interactive Gantt page is: a month of 5,000 jobs in a headless browser, zoomed and panned all the time.

Run with ``python -m tests.benchmarks.gantt [--jobs 5000] [--mechanism CUA-SPAA] [--density 1]``. Each frame shows
another window of time. It prints the time between two frames and the time of drawing one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from holdfast.experiments.gantt.page import write_gantt
from holdfast.simulator import simulate
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.support.browser import Browser

MONTH = 31 * 86400
JANUARY = 1_640_995_200

#: From everything to some hours and back, then along the month at the scale of a week.
MOVING = """new Promise((done) => {
  const gaps = [], T = holdfast.model.length, N = 300;
  let last = 0, n = 0;
  holdfast.times.length = 0;
  const go = (now) => {
    if (last) gaps.push(now - last);
    last = now;
    if (n++ >= 2 * N) return done({ gaps, draws: [...holdfast.times] });
    const zoomed = 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / N), along = 0.5 - 0.5 * Math.cos((Math.PI * (n - N)) / N);
    const span = T * (n <= N ? 0.003 ** zoomed : 0.25), middle = T * (n <= N ? 0.45 : 0.1 + 0.8 * along);
    holdfast.show(middle - span / 2, middle + span / 2);
    requestAnimationFrame(go);
  };
  requestAnimationFrame(go);
})"""


def month(jobs: int, mechanism: str) -> Recording:
    """A Theta-like month with so many jobs, at the load of the year."""
    trace = generate(ThetaYear(jobs=jobs), seed=1)
    scale = MONTH / max(job.submit for job in trace.jobs)
    shorter = [
        replace(
            job,
            submit=JANUARY + round(scale * job.submit),
            runtime=max(1, round(scale * job.runtime)),
            walltime=max(60, round(scale * job.walltime)) + 1,
        )
        for job in trace.jobs
    ]
    table = assign(replace(trace, jobs=tuple(shorter)), seed=1)
    return simulate(table, 4392, mechanism)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--mechanism", default="CUA-SPAA")
    parser.add_argument("--density", type=float, default=1, help="pixels of the screen for one of the page")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory, "month.html")
        recording = month(chosen.jobs, chosen.mechanism)
        began = time.perf_counter()
        write_gantt(page, recording)
        print(f"page of {page.stat().st_size / 1e6:.1f} MB written in {time.perf_counter() - began:.2f} s")
        with Browser(Path(directory, "profile")) as browser:
            began = time.perf_counter()
            browser.open(page)
            print(f"open after {time.perf_counter() - began:.2f} s")
            browser.call(
                "Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=chosen.density,
                mobile=False,
            )  # fmt: skip
            browser.frames(3)
            size = browser.evaluate("[holdfast.model.jobs.count, holdfast.model.rectangles.size]")
            print(f"{size[0]:,} jobs in {size[1]:,} rectangles")
            found = browser.evaluate(MOVING)
            for name, key in (("between two frames", "gaps"), ("drawing a frame", "draws")):
                times = np.array(found[key])
                middle, late = np.percentile(times, [50, 99])
                print(
                    f"{name}: median {middle:.1f} ms, p99 {late:.1f} ms, longest {times.max():.1f} ms of {len(times)}"
                )


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""
Chaos: the program with everything on, and everything that can go wrong, by seed.

usage: chaos.py [--seed N] [--runs N] [--jobs N] [--seconds N] [--binary FILE]

Run N seeds from the first one on; with --seconds, as many as begin in that time.  Odd seeds take
the shipped program alone (GANTRY), even ones also the build whose clock jumps and whose kernel
refuses (GANTRY_TEST).  The last line is "N passed, N failed".  A seed that fails leaves its
directory and says how to run it again.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scenes")]

from harness.process import become_subreaper, descendants  # noqa: E402
from harness.fixtures import survivors  # noqa: E402
import judge  # noqa: E402
import world  # noqa: E402

SETTLE = 60


def one(seed, folder):
    """A run of one seed; sentences about what went wrong."""
    become_subreaper()
    before = {(pid, st[2]) for pid, st in descendants().items()}
    w = world.World(folder, seed, seed % 2 == 0)
    bad = []
    try:
        world.live(w)
        if not world.settle(w, SETTLE):
            bad.append("something still waits after %d s without a fault" % SETTLE)
        w.end(signal.SIGTERM)
        if w.g.procs[-1].popen.returncode != 0:
            bad.append("the clean end was none: %s" % w.g.procs[-1].popen.returncode)
        bad += judge.judge(w, world.PLACES)
    except Exception:
        bad.append(traceback.format_exc())
    bad += w.close()
    left = survivors(before, w.g.procs)
    for pid, _ in left:
        os.kill(pid, signal.SIGKILL)
    bad += ["left behind: %s" % (left,)] if left else []
    bad += ["the model refused: " + v for v in w.model.violations]
    bad += ["Telegram refused: " + v for v in w.bot.violations]
    bad += w.g.leaks() + w.mcp.faults()
    if bad:
        (w.g.dir / "what-happened").write_text("\n".join(w.log + bad) + "\n\n" + "\n".join(
            p.report() for p in w.g.procs), encoding="utf-8")
    return bad, len(w.said), w.deaths


def run(seed):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="chaos-%d-" % seed))
    bad, said, deaths = one(seed, folder)
    if not bad:
        shutil.rmtree(folder)
    return seed, bad, said, deaths, str(folder)


def main():
    p = argparse.ArgumentParser(description="Chaos, by seed; see tests/chaos/README.md.")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--runs", type=int, default=20)
    p.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    p.add_argument("--seconds", type=float, default=0)
    p.add_argument("--binary", help="the program to run, for instance build/static/gantry")
    opt = p.parse_args()
    if opt.binary:
        os.environ["GANTRY"] = os.path.abspath(opt.binary)
    passed = failed = said = deaths = 0
    end = time.monotonic() + opt.seconds if opt.seconds else None
    seeds = iter(range(opt.seed, opt.seed + opt.runs))
    with concurrent.futures.ProcessPoolExecutor(opt.jobs) as pool:
        waiting = set()

        def more():
            while len(waiting) < opt.jobs and (end is None or time.monotonic() < end):
                seed = next(seeds, None)
                if seed is None:
                    return
                waiting.add(pool.submit(run, seed))

        more()
        while waiting:
            ready, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            waiting -= ready
            for f in ready:
                seed, bad, n, dead, folder = f.result()
                said, deaths = said + n, deaths + dead
                passed, failed = passed + (not bad), failed + bool(bad)
                for line in bad[:8]:
                    print("seed %d: %s" % (seed, line[:1500]))
                if bad:
                    print("seed %d: see %s/what-happened; again: make chaos SEED=%d RUNS=1%s" % (
                        seed, folder, seed, " CHAOS_ARGS=--binary=" + opt.binary if opt.binary else ""))
            sys.stdout.flush()
            more()
    print("%d messages, %d ends of the program that were not clean" % (said, deaths))
    print("%d passed, %d failed" % (passed, failed))
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""
Torture: scenes replayed with one kernel call, or one allocation, made to fail.

usage: torture.py [--scenes A,B] [--calls open,alloc] [--seed N] [--seconds N] [--fault F] [--every] [--jobs N]

Each scene is run first to learn from which places calls are made, then once for each of them and
for each error that the call may give, in an order drawn by the seed; with --seconds, those that begin in that time.
After each the scene goes on without faults, and is judged; see tests/torture/README.md.  The last line is
"N passed, N failed".  What fails leaves its directory and says how to run it again.
"""

import argparse
import collections
import concurrent.futures
import functools
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "chaos"), str(HERE.parent / "scenes")]

import book  # noqa: E402
import commands  # noqa: E402
import lives  # noqa: E402
from harness.fixtures import binary, survivors  # noqa: E402
from harness.process import become_subreaper, descendants  # noqa: E402

LIVES = {"telegram": lives.Telegram, "pipe": lives.Pipe, "host": lives.Hosted}
SCENES = [*LIVES, *(c.name for c in commands.TABLE)]
AGAIN = 3       # a place that is not reached each time is tried so often


def make(name, folder, template):
    if name in LIVES:
        return LIVES[name](folder)
    return commands.Run(next(c for c in commands.TABLE if c.name == name), template, folder)


def one(name, folder, template, fault=None):
    """One run of a scene; what was wrong with it, and the book of places."""
    become_subreaper()
    before = {(pid, st[2]) for pid, st in descendants().items()}
    places, bad, s = folder / "places", [], None
    try:
        s = make(name, folder, template)
        bad += s.live(GANTRY_PLACES=places, **({"GANTRY_FAULT": fault} if fault else {}))
        bad += s.judged()
    except Exception:
        bad.append(traceback.format_exc())
    if s:
        bad += s.close()
        # A process that aborts for want of memory is meant to.
        bad = [b for b in bad if "crashed with signal 6" not in b or "out of memory" not in b]
        left = survivors(before, s.g.procs)
        for pid, _ in left:
            os.kill(pid, signal.SIGKILL)
        bad += ["left behind: %s" % (left,)] if left else []
        bad += ["the model refused: " + v for v in s.model.violations]
        bad += ["Telegram refused: " + v for v in (s.bot.violations if s.bot else [])]
        bad += s.g.leaks() + s.mcp.faults()
    seen = book.Book(places) if places.exists() else None
    if bad and s:
        (folder / "what-happened").write_text("\n".join(bad) + "\n\n" + "\n".join(p.report() for p in s.g.procs), encoding="utf-8")
    return bad, seen, (s.notes if s else [])


def learn(name, template):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="torture-%s-" % name))
    bad, seen, _ = one(name, folder, template)
    if not bad:
        shutil.rmtree(folder)
    return name, bad, seen, commands.Run.reference.get(name), str(folder)


def suffer(name, template, reference, fault):
    """(scene, fault, sentences, the place that failed in words, was it reached, notes, folder)"""
    if reference:
        commands.Run.reference[name] = reference
    for _ in range(AGAIN):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="torture-%s-" % name))
        bad, seen, notes = one(name, folder, template, fault)
        hit = seen.hit() if seen else []
        if bad or hit or (seen and seen.failed):
            break
        shutil.rmtree(folder)
    where = "; ".join(book.told(p, seen.modules, binary(True)) for p in hit) if bad else ""
    if not bad:
        shutil.rmtree(folder, ignore_errors=True)
    return name, fault, bad, where, bool(hit), notes, str(folder)


def prepare(folder):
    """A database that had a conversation."""
    p = lives.Pipe(folder)
    bad = p.live() + p.judged() + p.close()
    assert not bad, bad
    con = __import__("sqlite3").connect(p.g.db_path)
    con.execute("pragma wal_checkpoint(truncate)")
    con.close()
    return p.g.db_path


def plan(known, calls, every, rng):
    """(scene, fault) in the order in which they are tried: each place once before any a second time.
    A place that several scenes come by is tried in the last of them alone, a command, unless every is set."""
    rounds = collections.defaultdict(list)
    last = {p.hash: name for name, places in known.items() for p in places}
    for name, places in known.items():
        for p in places:
            if calls and p.call not in calls and not (p.child and "child" in calls):
                continue
            if not every and last[p.hash] != name:
                continue
            hows = list(book.HOWS[p.call])
            rng.shuffle(hows)
            for n, how in enumerate(hows):
                rounds[n].append((name, book.fault(p, how)))
    for n in sorted(rounds):
        rng.shuffle(rounds[n])
        yield from rounds[n]


class Tally:
    def __init__(self):
        self.passed = self.failed = self.missed = 0
        self.notes = collections.Counter()

    def take(self, name, fault, bad, where, hit, notes, folder):
        self.passed, self.failed = self.passed + (not bad), self.failed + bool(bad)
        self.missed += not hit and not bad
        self.notes.update(notes)
        for line in bad[:6]:
            print("%s %s: %s" % (name, fault, line[:1200]))
        if bad:
            print("%s %s: %s" % (name, fault, where))
            print("%s: see %s/what-happened; again: make torture SCENES=%s FAULT=%s" % (name, folder, name, fault))
            sys.stdout.flush()


def learn_all(pool, scenes, template, tally):
    known, references = {}, {}
    for f in [pool.submit(learn, name, template) for name in scenes for _ in range(2 if name in LIVES else 1)]:
        name, bad, seen, reference, folder = f.result()
        if bad:
            tally.take(name, "(without a fault)", bad, "", True, [], folder)
        references[name] = reference
        known.setdefault(name, {}).update({p.hash: p for p in (seen.places if seen else [])})
    return {n: list(p.values()) for n, p in known.items()}, references


def main():
    p = argparse.ArgumentParser(description="Torture; see tests/torture/README.md.")
    p.add_argument("--scenes", default="")
    p.add_argument("--calls", default="")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=float, default=0)
    p.add_argument("--fault", default="")
    p.add_argument("--every", action="store_true")
    p.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    opt = p.parse_args()
    scenes = [s for s in opt.scenes.split(",") if s] or SCENES
    unknown = set(scenes) - set(SCENES)
    if unknown:
        p.error("no such scene: %s; there are %s" % (", ".join(unknown), ", ".join(SCENES)))
    tally, top = Tally(), pathlib.Path(tempfile.mkdtemp(prefix="torture-template-"))
    become_subreaper()
    template = prepare(top)
    with concurrent.futures.ProcessPoolExecutor(opt.jobs) as pool:
        known, references = learn_all(pool, scenes, template, tally)
        for n in scenes:
            kinds = collections.Counter(("child's " if p.child else "") + p.call for p in known[n])
            print("%s: %d places: %s" % (n, len(known[n]), ", ".join("%d %s" % (k[1], k[0]) for k in kinds.most_common())))
        sys.stdout.flush()
        end = time.monotonic() + opt.seconds if opt.seconds else None
        todo = iter([(n, opt.fault) for n in scenes] if opt.fault else
                    plan(known, [c for c in opt.calls.split(",") if c],
                         opt.every, random.Random(opt.seed)))
        waiting = set()
        while True:
            while len(waiting) < opt.jobs and (end is None or time.monotonic() < end):
                item = next(todo, None)
                if item is None:
                    break
                waiting.add(pool.submit(suffer, item[0], template, references.get(item[0]), item[1]))
            if not waiting:
                break
            ready, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for f in ready:
                tally.take(*f.result())
    shutil.rmtree(top)
    print("%d of them never came to their place; %s" % (tally.missed, dict(tally.notes)))
    print("%d passed, %d failed" % (tally.passed, tally.failed))
    return 0 if tally.passed and not tally.failed else 1


if __name__ == "__main__":
    sys.exit(main())

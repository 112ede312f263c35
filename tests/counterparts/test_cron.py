"""
When cron expressions are due, against two libraries nobody here wrote (croner and cron-parser) and
against a reckoning of our own rules over Python's time zones.

Zones are compared first, since each side brings its own tzdata.  Of what then differs every case
must be explained by one of the documented rules: what a clock change does (each library has its
own way), and that a day field which begins with * counts as unrestricted.  The figures are printed.
"""

import collections
import datetime
import json
import pathlib
import random
import subprocess
import zoneinfo

from harness.reckoning import HOUR, UTC, Reckoning, offset, stamp

HERE = pathlib.Path(__file__).resolve().parent
ZONES = ["Australia/Lord_Howe", "America/Santiago", "Pacific/Apia", "Africa/Casablanca", "Europe/Berlin",
         "America/New_York", "Asia/Kolkata", "Europe/Dublin", "America/St_Johns", "Asia/Tehran"]
SPANS = [(2010, 2012), (2024, 2030)]
TRIPLES = 20000


# --- expressions -----------------------------------------------------------------------------------

def field(rng, low, high, star, names=()):
    kind = rng.random()
    if kind < star:
        return "*"
    if kind < star + 0.12:
        return "*/%d" % rng.choice([n for n in (2, 3, 4, 5, 7, 10, 15, 20, 30) if n <= high])
    if kind < star + 0.25:
        a, b = sorted(rng.sample(range(low, high + 1), 2))
        return "%d-%d" % (a, b) if rng.random() < 0.7 or b - a < 3 else "%d-%d/%d" % (a, b, rng.randint(2, 3))
    if names and rng.random() < 0.3:
        return rng.choice(names)
    return ",".join(str(n) for n in sorted(rng.sample(range(low, high + 1), rng.choice([1, 1, 1, 2, 3]))))


def expression(rng):
    return " ".join([field(rng, 0, 59, 0.1), field(rng, 0, 23, 0.25) if rng.random() < 0.6 else str(rng.randint(0, 4)),
                     field(rng, 1, 28, 0.75), field(rng, 1, 12, 0.85, ["jan", "MAR", "Oct", "dec"]),
                     field(rng, 0, 6, 0.7, ["sun", "MON", "Fri"])])


# --- the programs -------------------------------------------------------------------------------------

def theirs(rig, questions):
    done = subprocess.run([rig.node, str(HERE / "cron_oracle.mjs"), str(rig.folder)], check=True, text=True,
                          input="".join(json.dumps(q) + "\n" for q in questions), stdout=subprocess.PIPE, timeout=600)
    return [json.loads(line) for line in done.stdout.splitlines()]


def rfc3339(at):
    return datetime.datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ours(gantry, triples):
    done = gantry.run("cron", "next", "-", input="".join("%s\t%s\t%s\n" % (e, z, rfc3339(at)) for e, z, at in triples),
                      seconds=120)
    out = []
    for line in done.out.splitlines():
        out.append(None if line.startswith("error") else int(datetime.datetime.fromisoformat(line).timestamp()))
    return out


def make_triples(all_changes):
    rng = random.Random(20261130)
    out = []
    while len(out) < TRIPLES:
        name = ZONES[len(out) % len(ZONES)]
        first, last = rng.choice(SPANS)
        start = rng.randrange(stamp(first, 1, 1), stamp(last, 12, 31))
        near = [c for c in all_changes[name] if stamp(first, 1, 2) < c < stamp(last, 12, 31)]
        if near and rng.random() < 0.5:
            start = rng.choice(near) - rng.randrange(-4 * HOUR, 36 * HOUR)
        out.append((expression(rng), name, start))
    return out


def test_zones_and_next_runs_agree_but_for_the_documented_rules(rig, gantry):
    reckoning = Reckoning({name: zoneinfo.ZoneInfo(name) for name in ZONES}, SPANS)
    older = {}
    hours = [at for first, last in SPANS for at in range(stamp(first, 1, 1), stamp(last + 1, 1, 1), 3 * HOUR)]
    for name, offsets in zip(ZONES, theirs(rig, [{"zone": name, "at": hours} for name in ZONES])):
        older[name] = [at for at, o in zip(hours, offsets) if o != offset(reckoning.zones[name], at)]
    triples = make_triples(reckoning.changes)
    got = ours(gantry, triples)
    both = theirs(rig, [{"expr": e, "zone": z, "from": at} for e, z, at in triples])
    assert len(got) == len(both) == TRIPLES
    count, unexplained, wrong = collections.Counter(), [], []
    for i, ((expr, name, start), mine, libraries) in enumerate(zip(triples, got, both)):
        differs = [other != mine for other in libraries]
        if any(differs) or i % 10 == 0:
            count["reckoned"] += 1
            if reckoning.next(expr, name, start) != mine:
                wrong.append((expr, name, rfc3339(start), mine and rfc3339(mine)))
        for library, other, differ in zip(("croner", "cron-parser"), libraries, differs):
            if not differ:
                count[library, "same"] += 1
                continue
            f = expr.split()
            instants = [t for t in (mine, other) if isinstance(t, (int, float))]
            if any(start - 86400 <= at <= max(instants, default=start) + 86400 for at in older[name]):
                count[library, "older tzdata"] += 1
            elif f[2].startswith("*/") or f[4].startswith("*/"):
                count[library, "a day field that begins with *"] += 1
            elif any(reckoning.near(name, t, 26 * HOUR) for t in instants + [start]):
                count[library, "clock change"] += 1
            else:
                unexplained.append((library, expr, name, rfc3339(start), mine and rfc3339(mine), other))
    print("\n%d triples; offsets that differ: %s" % (TRIPLES, {n: len(v) for n, v in older.items() if v} or "none"))
    for key in sorted(count, key=str):
        print("%-60s %6d" % (" ".join(key) if isinstance(key, tuple) else key, count[key]))
    assert not wrong, wrong[:5]
    assert not unexplained, (len(unexplained), unexplained[:8])

"""
When cron expressions are due, against two libraries nobody here wrote (croner and cron-parser) and
against a reckoning of our own rules over Python's time zones.

Zones are compared first, since each side brings its own tzdata.  Of what then differs every case
must be explained by one of the documented rules: what a clock change does (each library has its
own way), and that a day field which begins with * counts as unrestricted.  The figures are printed.
"""

import bisect
import collections
import datetime
import json
import pathlib
import random
import subprocess
import zoneinfo

HERE = pathlib.Path(__file__).resolve().parent
ZONES = ["Australia/Lord_Howe", "America/Santiago", "Pacific/Apia", "Africa/Casablanca", "Europe/Berlin",
         "America/New_York", "Asia/Kolkata", "Europe/Dublin", "America/St_Johns", "Asia/Tehran"]
SPANS = [(2010, 2012), (2024, 2030)]
TRIPLES = 20000
NAMES = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10,
         "nov": 11, "dec": 12, "sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
UTC = datetime.timezone.utc
HOUR = 3600


def stamp(*ymd):
    return int(datetime.datetime(*ymd, tzinfo=UTC).timestamp())


def offset(zone, at):
    return int(zone.fromutc(datetime.datetime.fromtimestamp(at, UTC).replace(tzinfo=zone)).utcoffset().total_seconds())


def changes(zone):
    """Instants at which the offset changes, a little beyond the spans."""
    out = []
    for first, last in SPANS:
        at, end = stamp(first - 1, 12, 1), stamp(last + 3, 2, 1)
        before = offset(zone, at)
        while at < end:
            after = offset(zone, at + 6 * HOUR)
            if after != before:
                low, high = at, at + 6 * HOUR
                while high - low > 1:
                    mid = (low + high) // 2
                    low, high = (mid, high) if offset(zone, mid) == before else (low, mid)
                out.append(high)
                before = after
            at += 6 * HOUR
    return out


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


def numbers(text, low, high):
    out = set()
    for item in text.lower().split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        if span == "*":
            first, last = low, high
        else:
            first = NAMES.get(first, first)
            last = NAMES.get(last, last) if last else (high if step else first)
        out |= set(range(int(first), int(last) + 1, int(step or 1)))
    return out


class Reckoning:
    """Our documented rules, day by day, over Python's zones."""

    def __init__(self, zones):
        self.zones, self.changes = zones, {name: changes(z) for name, z in zones.items()}

    def near(self, name, at, reach):
        all_ = self.changes[name]
        i = bisect.bisect_left(all_, at - reach)
        return i < len(all_) and all_[i] <= at + reach

    def instant(self, name, wall):
        """The first instant at which the clock shows wall or later."""
        zone, at = self.zones[name], wall - 15 * HOUR
        all_ = self.changes[name]
        i = bisect.bisect_right(all_, at - 30 * HOUR)
        at -= 30 * HOUR
        while True:
            until = all_[i] if i < len(all_) else at + 10 ** 9
            got = max(wall - offset(zone, at), at)
            if got < until:
                return got
            at, i = until, i + 1

    def next(self, expr, name, start):
        zone = self.zones[name]
        f = expr.split()
        minutes, hours = sorted(numbers(f[0], 0, 59)), sorted(numbers(f[1], 0, 23))
        days, months = numbers(f[2], 1, 31), numbers(f[3], 1, 12)
        weekdays = {d % 7 for d in numbers(f[4], 0, 6)}
        both = f[2].startswith("*") or f[4].startswith("*")

        def day_fits(day):
            d, w = day.day in days, day.isoweekday() % 7 in weekdays
            return day.month in months and ((d and w) if both else (d or w))

        day = datetime.datetime.fromtimestamp(start + offset(zone, start), UTC).date() - datetime.timedelta(days=2)
        for _ in range(366 * 30):
            if day_fits(day):
                base = stamp(day.year, day.month, day.day)
                if len(hours) == 24:
                    at = self.real(name, base, minutes, start)
                else:
                    at = min((t for t in (self.instant(name, base + h * HOUR + m * 60) for h in hours for m in minutes)
                              if t > start), default=None)
                    # What the clock had shown by then already is not due again.
                if at is not None:
                    return at
            day += datetime.timedelta(days=1)
        return None

    def real(self, name, base, minutes, start):
        """Of all hours: each real minute whose clock shows it, first and second pass alike."""
        zone, wanted = self.zones[name], set(minutes)
        at = max(start + 60 - start % 60, base - 15 * HOUR)
        if at > base + 40 * HOUR:
            return None
        while at < base + 40 * HOUR:
            wall = at + offset(zone, at)
            if base <= wall < base + 24 * HOUR and wall // 60 % 60 in wanted:
                return at
            at += 60
        return None


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
    reckoning = Reckoning({name: zoneinfo.ZoneInfo(name) for name in ZONES})
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

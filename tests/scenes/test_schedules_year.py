"""
A year of fifty jobs in ten time zones, with every clock change, restarts, a sleep of twelve hours,
downtime, and a clock that is set both ways: each time a job was due is run once, or recorded as
skipped with the reason.  What is due is reckoned here, by other code.
"""

import collections
import sqlite3
import time
import zoneinfo

import pytest

from fakes.model import Reply
from harness.reckoning import Reckoning
from harness.watch import SLOW, wait_until
from test_schedules import START, Clock

pytestmark = pytest.mark.long

DAY = 86400
ZONES = ["Australia/Lord_Howe", "America/Santiago", "Pacific/Apia", "Africa/Casablanca", "Europe/Berlin",
         "America/New_York", "Asia/Kolkata", "Europe/Dublin", "America/St_Johns", "Asia/Tehran"]
# Clocks change on Sundays, between midnight and three.
WEEKLY = ["30 2 * * 0", "30 1 * * sun", "0 0 * * 0", "15 3 * * 7"]
CONFIG = {"summer": "30 2 28 3 *", "winter": "30 2 25 10 *", "months": "@monthly", "noon": "0 12 * * 1",
          "hours": "*/30 * 25 10 *", "quarter": "45 2 1 1,4,7,10 *"}
LENGTH = 366 * DAY if SLOW == 1 else 20 * DAY


def jobs_of(config_zone):
    out = [(n, "cron", expr, zone) for n, (zone, expr) in enumerate(((z, e) for z in ZONES for e in WEEKLY), 1)]
    out += [(41, "every", "1d", "UTC"), (42, "every", "7d12h", "UTC"), (43, "cron", "30 2 * * *", "Europe/Berlin"),
            (44, "cron", "30 2 1,15 * *", "America/New_York")]
    return out + [(name, "cron", expr.replace("@monthly", "0 0 1 * *"), config_zone) for name, expr in CONFIG.items()]


def reckon(jobs, start, end):
    """{job: [due times]}"""
    r = Reckoning({z: zoneinfo.ZoneInfo(z) for z in ZONES + ["UTC"]}, [(2026, 2027)])
    out = {}
    for name, kind, expr, zone in jobs:
        times, at = [], start
        if kind == "every":
            step = DAY if expr == "1d" else 7 * DAY + DAY // 2
            times = list(range(start + step, end + 1, step))
        else:
            while (at := r.next(expr, zone, at)) is not None and at <= end:
                times.append(at)
        out[name] = times
    return out


class Year:
    def __init__(self, clock, jobs, due):
        self.clock, self.jobs, self.due = clock, jobs, due
        self.now = START        # what the wall clock of the program says
        self.expected = 0       # runs this daemon has to finish
        self.steps = 0
        self.rows = {}          # the runs; the program forgets them after ninety days

    def gather(self):
        for r in self.clock.g.sql("select * from job_runs"):
            self.rows[r["id"]] = r

    def fill(self):
        """Jobs of chats, as the tools would have made them."""
        con = sqlite3.connect(self.clock.g.db_path)
        for name, kind, expr, zone in self.jobs:
            if isinstance(name, str):
                continue
            con.execute("insert into jobs (id, source, channel, address, prompt, kind, expr, zone, next_at_ms, "
                        "created_at_ms, updated_at_ms) values (?, 'chat', 'stdio', ?, 'x', ?, ?, ?, ?, 0, 0)",
                        (name, "c%d" % name, kind, expr, zone, self.due[name][0] * 1000))
        con.commit()
        con.close()

    def wall_is(self, at):
        """Both clocks move so that the wall clock says at."""
        self.clock.step(at - (time.time() + (self.clock.both + self.clock.wall) / 1000), busy=True)
        self.now = at

    def start(self):
        self.clock.start()
        self.expected = 0

    def settled(self):
        """Nothing is due and nothing runs."""
        def quiet():
            row = self.clock.g.sql("select (select count(*) from job_runs where state = 'started' or settled = 0), "
                                   "(select count(*) from jobs where enabled and next_at_ms > 0 and next_at_ms <= ?)",
                                   int(self.now * 1000))[0]
            if tuple(row) == (0, 0):
                return True
            self.clock.step(1, busy=True)      # the next look of those that were put off
            self.now += 1
            return False
        wait_until(quiet, "quiet", 60)
        self.expected = self.clock.p.err.text.count('"msg":"job.done"')

    def to(self, at):
        """On to a moment, each time that is due on the way on its own."""
        for t in sorted({t for times in self.due.values() for t in times if self.now < t <= at}):
            self.wall_is(t + 0.2)
            self.expected += sum(t in times for times in self.due.values())
            self.clock.done(self.expected)
            self.steps += 1
            if self.steps % 200 == 0:
                self.gather()
        self.wall_is(at)


def test_a_year_runs_each_time_once_or_says_why_not(clock, model, gantry):
    gantry.set(GANTRY_CRON_TIMEZONE="Europe/Berlin", LOG_LEVEL="info", GANTRY_CRON_JOBS="[%s]" % ", ".join(
        "{name: %s, schedule: '%s', prompt: x, session: ephemeral, timeout: 5m}" % item for item in CONFIG.items()))
    model.answer(lambda request: Reply("[silent]"))
    jobs = jobs_of("Europe/Berlin")
    assert len(jobs) == 50
    due = reckon(jobs, START, START + LENGTH)
    y = Year(clock, jobs, due)
    clock.start(GANTRY_CRON_JOBS="[]")
    clock.stop()
    y.fill()
    y.start()
    year = LENGTH / (366 * DAY)
    trouble = []

    def note(what, until):
        trouble.append((what, y.now - 1, until))

    y.to(START + int(40 * DAY * year))
    clock.stop()                                             # a restart, nothing missed
    y.start()
    y.to(START + int(90 * DAY * year))
    clock.stop()                                             # three days down, over a Sunday
    note("down", y.now + 3 * DAY)
    y.wall_is(y.now + 3 * DAY)
    y.start()
    y.settled()
    y.to(START + int(150 * DAY * year))
    note("sleep", y.now + DAY // 2)                          # the machine sleeps: only the wall clock moves
    clock.set_wall(DAY // 2)
    y.now += DAY // 2
    clock.step(16, busy=True)
    y.now += 16
    y.settled()
    y.to(START + int(200 * DAY * year))
    note("set", y.now + 2 * DAY)                             # set forward by two days, and back again
    clock.set_wall(2 * DAY)
    y.now += 2 * DAY
    clock.step(16, busy=True)
    y.now += 16
    y.settled()
    clock.set_wall(-2 * DAY)
    y.now -= 2 * DAY
    clock.p.err.wait('"msg":"jobs.clock"')
    ahead = y.now + 2 * DAY + 60
    while y.now < ahead:                                     # what ran already is not run again
        clock.step(3600)
        y.now += 3600
        y.settled()
    y.to(START + LENGTH)
    y.settled()
    clock.stop()
    check(gantry, y, due, trouble)


def check(gantry, y, due, trouble):
    names = {r["id"]: r["name"] or r["id"] for r in gantry.sql("select id, name from jobs")}
    ran, skipped, reasons = collections.Counter(), collections.defaultdict(list), collections.Counter()
    y.gather()
    for r in y.rows.values():
        name = names[r["job_id"]]
        if r["state"] == "skipped":
            skipped[name].append((r["scheduled_at_ms"] // 1000, r["last_at_ms"] // 1000, r["n"]))
            reasons[r["reason"]] += r["n"]
        else:
            assert r["state"] == "ok", tuple(r)
            ran[name, r["scheduled_at_ms"] // 1000] += 1
            reasons["ok" + (" " + r["reason"] if r["reason"] else "")] += 1
    assert set(ran.values()) == {1}
    lost, early = [], [key for key in ran if key[1] not in due[key[0]]]
    for name, times in due.items():
        for t in times:
            covered = (name, t) in ran or any(a <= t <= b for a, b, _ in skipped[name])
            if not covered:
                lost.append((name, t))
            if (name, t) not in ran:
                assert any(a <= t <= b for _, a, b in trouble), ("skipped without trouble", name, t)
    total = sum(map(len, due.values()))
    print("\n%d times due of 50 jobs, %d steps: %s" % (total, y.steps, dict(reasons)))
    assert not lost, lost[:10]
    assert not early, early[:10]
    assert total > (2500 if SLOW == 1 else 50)


@pytest.fixture
def clock(gantry):
    return Clock(gantry)

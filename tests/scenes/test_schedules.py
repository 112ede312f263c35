"""
Schedules: what is said in a chat or named in the configuration is done when it is due, once, and
told; over restarts, sleep and clock changes.  Time is the seam's: a step instead of a wait.
"""

import json
import re
import sqlite3
import struct
import time

import pytest

from fakes.model import Reply, call
from fakes.telegram import ALLOWED
from harness.watch import Gate, SLOW, wait_until

pytestmark = pytest.mark.concurrency

START = 1784721600  # 2026-07-22T12:00:00Z, a Wednesday


class Clock:
    """A daemon at the terminal's channel whose time the test moves."""

    def __init__(self, gantry):
        self.g, self.file = gantry, gantry.dir / "clock"
        self.both, self.wall = int((START - time.time()) * 1000), 0
        self.file.write_bytes(struct.pack("=qq", self.both, 0))
        gantry.set(LOG_LEVEL="info")
        self.p = None

    def _write(self):
        with open(self.file, "r+b") as f:
            f.write(struct.pack("=qq", self.both, self.wall))

    def start(self, **more):
        self.p = self.g.start("run", seam=True, GANTRY_CLOCK=str(self.file), **more)
        self.p.err.wait(r'"msg":"ready"')
        return self.p

    def resting(self):
        """No turn and no piece is under way: what a jump of the clock would make late."""
        return not self.p.running() or not self.g.sql(
            "select 1 from turns where state in ('ready', 'running') union all select 1 from pieces where state = 'sending'")

    def step(self, seconds, busy=False):
        """Time passes, once nothing is under way, unless busy."""
        if self.p and not busy:
            wait_until(self.resting, "the turns to be over")
        self.both += int(seconds * 1000)
        self._write()

    def set_wall(self, seconds):
        """The clock is set, or the machine slept: monotonic time does not move."""
        self.wall += int(seconds * 1000)
        self._write()

    def stop(self):
        self.p.term()
        self.p.wait(30, 0)

    def runs(self):
        return [tuple(r) for r in self.g.sql("select job_id, state, reason, n from job_runs order by id")]

    def done(self, n):
        """n runs are over and settled."""
        self.p.err.board.wait(lambda: self.p.err.text.count('"msg":"job.done"') >= n, "%d runs that are over" % n,
                              detail=self.p.report)


@pytest.fixture
def clock(gantry):
    return Clock(gantry)


def remind(model, when="in 30m", repeat=None, prompt="submit the timecard"):
    more = {"repeat": repeat} if repeat else {}
    model.reply(calls=[call("cron_schedule", prompt=prompt, when=when, **more)])
    model.reply("I will remind you.")


def test_a_reminder_asked_for_in_chat_comes_when_it_is_due_and_says_what_it_is(clock, model):
    clock.start()
    remind(model, "5 pm")
    clock.p.send("remind me at 5 pm to submit my timecard")
    clock.p.out.wait("I will remind you")
    result = [m for m in model.last.messages if m["role"] == "tool"][0]["content"]
    assert result.startswith("scheduled id=1 (once); next: today at 17:00 UTC (in 5 hours)"), result
    assert "now: Wednesday 2026-07-22 12:00 UTC" in json.dumps(model.last.messages)
    model.reply("Submit your timecard now.")
    clock.step(5 * 3600)
    clock.p.out.wait(r"⏰ Reminder #1:\s+Submit your timecard now\.")
    asked = model.last.messages[-1]["content"]
    assert asked.startswith("[cron] ") and "submit the timecard" in asked
    clock.done(1)
    clock.step(7 * 86400)
    clock.stop()
    assert clock.runs() == [(1, "ok", "", 1)]
    assert clock.g.sql("select enabled from jobs")[0][0] == 0


def test_three_next_times_are_echoed_and_the_list_and_the_cancel_are_the_chats(clock, model):
    clock.start()
    model.reply(calls=[call("cron_schedule", prompt="summarise my mail", when="8:00", repeat="weekdays")])
    model.reply(calls=[call("cron_list")])
    model.reply(calls=[call("cron_cancel", id="1")])
    model.reply(calls=[call("cron_list"), call("cron_cancel", id=1), call("cron_cancel", id=True),
                       call("cron_schedule", prompt="x", when="30 2 30 2 *"), call("cron_schedule", prompt="", when="in 1h")])
    model.reply("Done.")
    clock.p.send("every weekday at 8 summarise my mail")
    clock.p.out.wait("Done.")
    tools = [m["content"] for m in model.last.messages if m["role"] == "tool"]
    assert ("next: tomorrow at 08:00 UTC (in 20 hours); Friday 24 July 2026 at 08:00 UTC (in 44 hours); "
            "Monday 27 July 2026 at 08:00 UTC (in 5 days)") in tools[0]
    assert "#1  weekdays 08:00  next: tomorrow at 08:00 UTC" in tools[1]
    assert tools[2] == "cancelled job 1"
    assert tools[3] == "no active cron jobs"
    assert "this chat has no job 1" in tools[4] and "id must be the number" in tools[5]
    assert "a date that never comes" in tools[6] and "prompt is empty" in tools[7]
    clock.step(3 * 86400)
    clock.stop()
    assert clock.runs() == []


def test_silent_answers_are_not_sent_and_earlier_runs_stay_out_of_the_prompt(clock, model):
    clock.start()
    remind(model, "every:1h", prompt="check the oven")
    clock.p.send("check the oven every hour, I am Ada")
    clock.p.out.wait("I will remind you")
    model.reply("It is hot.")
    clock.step(3600)
    clock.p.out.wait("It is hot")
    clock.done(1)
    model.reply("[Silent]\nall clear")
    clock.step(3600)
    clock.done(2)
    said = json.dumps(model.last.messages)
    assert "I am Ada" in said and "It is hot" not in said
    model.reply("NO_REPLY")
    clock.step(3600)
    clock.done(3)
    model.reply("The oven was hot at one.")
    clock.p.send("and?")
    clock.p.out.wait("hot at one")
    assert "It is hot" in json.dumps(model.last.messages)
    clock.stop()
    assert "all clear" not in clock.p.out.text and "NO_REPLY" not in clock.p.out.text
    assert [r[1] for r in clock.runs()] == ["ok", "ok", "ok"]


def test_a_failed_reminder_is_tried_again_with_growing_pauses_and_then_reported(clock, model, gantry):
    gantry.set(GANTRY_OPENAI_MAX_RETRIES="0")
    clock.start()
    remind(model)
    clock.p.send("remind me")
    clock.p.out.wait("I will remind you")
    refusal = dict(status=400, body={"error": {"message": "the endpoint is on holiday"}})
    model.reply(**refusal)
    clock.step(1800)
    for n, pause in enumerate((60, 300, 900), 1):
        clock.done(n)
        clock.step(pause - 10)
        model.reply(**refusal)
        clock.step(12)
    clock.p.out.wait(r"⏰ #1 failed, also when it was tried again: .*on holiday")
    assert clock.p.out.text.count("on holiday") == 1
    clock.stop()
    assert [(r[1], r[2]) for r in clock.runs()] == [("error", ""), ("error", "try 2"), ("error", "try 3"), ("error", "try 4")]
    assert len(gantry.sql("select distinct scheduled_at_ms from job_runs")) == 1


def test_nobody_is_asked_in_a_scheduled_run(clock, model, mcp, gantry):
    mcp.add("srv", tools=["echo"])
    gantry.set(GANTRY_POLICY_RULES="[{tool: srv__echo, action: ask}]")
    clock.start()
    remind(model)
    clock.p.send("remind me")
    clock.p.out.wait("I will remind you")
    model.reply(calls=[call("srv__echo", text="x")])
    model.reply("I may not.")
    clock.step(1800)
    clock.p.out.wait("I may not")
    assert mcp.calls() == []
    assert clock.p.out.text.count("?") == 0
    clock.stop()


def test_a_job_that_still_runs_is_not_started_on_top_of_itself(clock, model):
    gate = Gate()
    clock.start()
    remind(model, "* * * * *")
    clock.p.send("every minute")
    clock.p.out.wait("I will remind you")
    model.reply("slow", gate=gate)
    clock.step(60)
    gate.wait_reached()
    clock.step(60, busy=True)
    clock.p.err.wait('"msg":"job.skipped".*"reason":"overlap"')
    gate.release()
    clock.done(1)
    model.reply("again")
    clock.step(60)
    clock.done(2)
    clock.stop()
    assert [r[1] for r in clock.runs()] == ["ok", "skipped", "ok"]


def test_downtime_gives_one_late_run_a_job_and_says_what_was_skipped(clock, model):
    clock.start()
    for when in ("*/5 * * * *", "0 8 * * *", "30 19 * * *"):
        remind(model, when)
        clock.p.send("job " + when)
        clock.p.out.wait("I will remind you")
    model.answer(lambda request: Reply("ran"))
    clock.step(10 * 3600)              # 22:00
    clock.done(2)                      # 19:30 was jumped over as well
    clock.stop()
    before = len(clock.runs())
    clock.step(12 * 3600 + 57 * 60)    # 10:57
    clock.start()
    clock.done(2)
    clock.stop()
    late = [r for r in clock.runs()[before:] if r[1] == "ok"]
    assert sorted(r[0] for r in late if r[2] == "late") == [1, 2]
    assert not [r for r in clock.runs() if r[0] == 3 and r[1] == "skipped"]


def many_late(gantry, at_ms):
    """1000 reminders that were due while nothing ran: 900 of one chat, ten of each of ten others."""
    con = sqlite3.connect(str(gantry.db_path))
    rows = [("local" if i < 900 else "chat%d" % (i % 10), at_ms + i * 1000) for i in range(1000)]
    con.executemany(
        "INSERT INTO jobs (source, name, channel, address, sender, to_channel, to_address, prompt, kind, expr, zone, "
        "ephemeral, catch_up, timeout_ms, enabled, next_at_ms, created_at_ms, updated_at_ms, first_at_ms) VALUES "
        "('chat', '', 'stdio', ?, 'x', '', '', 'late', 'every', '365d', 'UTC', 0, 1, 0, 1, ?, 1, 1, 0)", rows)
    con.commit()
    con.close()


def test_a_thousand_late_jobs_are_run_in_their_order_and_in_nobodys_way(clock, model, gantry):
    gantry.set(GANTRY_CRON_MAX_JOBS="2000", GANTRY_MEMORY_CONSOLIDATE_MINUTES="0")
    clock.start()
    remind(model, "* * * * *", prompt="frequent")
    clock.p.send("every minute")
    clock.p.out.wait("I will remind you")
    clock.stop()
    many_late(gantry, (START + 60) * 1000)
    clock.step(3 * 3600)
    asked = []

    def answer(request):
        said = [m for m in request.messages if m["role"] == "user"][-1]["content"]
        asked.append("me" if "are you there" in said else "frequent" if "frequent" in said else "late")
        return Reply("done with it")
    model.answer(answer)
    model.aside = lambda request: Reply("Facts: none")
    clock.start()
    wait_until(lambda: len(asked) > 100, "the first of them")
    before = len(asked)
    clock.p.send("are you there?")
    clock.step(60, busy=True)          # the frequent one is due again
    wait_until(lambda: asked[before:].count("me") and asked[before:].count("frequent"), "the others' answers")
    assert len(asked) < 900            # long before the late ones are through
    wait_until(lambda: asked.count("late") >= 1000, "all of them", seconds=240)
    wait_until(lambda: not gantry.sql("select 1 from job_runs where state = 'started'"), "their ends")
    clock.stop()
    runs = gantry.sql("select r.job_id, j.address from job_runs r join jobs j on j.id = r.job_id "
                      "where r.state = 'ok' and j.prompt = 'late' order by r.id")
    assert len(runs) == 1000 and len(set(r[0] for r in runs)) == 1000
    of_chat = [r[0] for r in runs if r[1] == "local"]
    assert of_chat == sorted(of_chat)                                    # the oldest first
    others = [i for i, r in enumerate(runs) if r[1] != "local"]
    assert others[0] < 50 and others[-1] < 500                           # and no chat behind another
    waiting = gantry.sql("select max(n) from (select count(*) n from job_runs group by started_at_ms)")
    assert waiting[0][0] <= 16


def test_a_reminder_that_is_a_day_too_late_is_reported_not_dropped(clock, model):
    clock.start()
    remind(model)
    clock.p.send("remind me")
    clock.p.out.wait("I will remind you")
    clock.stop()
    clock.step(3 * 86400)
    clock.start()
    clock.p.out.wait("(?s)A reminder was due .*22 July 2026 at 12:30.* too late now.*submit the timecard")
    clock.stop()
    assert clock.runs() == [(1, "skipped", "expired", 1)]


def test_a_clock_that_is_set_neither_floods_nor_stalls(clock, model):
    clock.start()
    remind(model, "* * * * *")
    clock.p.send("every minute")
    clock.p.out.wait("I will remind you")
    model.answer(lambda request: Reply("ran"))
    clock.step(60)
    clock.done(1)
    clock.set_wall(86400)              # a day forward: one run
    clock.done(2)
    clock.set_wall(-86400 - 3600)      # and back, behind where it was
    clock.p.err.wait('"msg":"jobs.clock"')
    clock.step(60)
    clock.done(3)                      # it goes on at the next minute, a day early or not
    clock.stop()
    ran = [r for r in clock.runs() if r[1] == "ok"]
    assert 3 <= len(ran) <= 4
    times = [r[0] for r in clock.g.sql("select scheduled_at_ms from job_runs where state = 'ok'")]
    assert len(times) == len(set(times))


JOBS = ("[{name: morning, schedule: '30 12 * * *', prompt: What is on today, session: persistent, timeout: 2m}, "
        "{name: once, schedule: '30 12 * * *', prompt: Look, session: ephemeral, timeout: 1m, catch_up: true}, "
        "{name: never, schedule: '@hourly', prompt: x, session: ephemeral, timeout: 1m, enabled: false}]")


def test_jobs_of_the_configuration_run_in_sessions_of_their_own(clock, model, gantry):
    gantry.set(GANTRY_CRON_JOBS=JOBS)
    clock.start()
    model.answer(lambda request: Reply("seen"))
    clock.step(1800)
    clock.done(2)
    clock.step(86400)
    clock.done(4)
    clock.stop()
    sessions = gantry.sql("select address from sessions where channel = 'cron' order by address")
    assert "job:morning" in [s[0] for s in sessions]
    assert all(s[0] == "job:morning" or s[0].startswith("job:once:run-") for s in sessions)
    assert sorted(r[0] for r in gantry.sql("select name from jobs where enabled")) == ["morning", "once"]
    assert clock.p.out.text.strip() == ""          # nothing is delivered anywhere
    both = [r.messages for r in model.requests if "What is on today" in json.dumps(r.messages)]
    assert len(both) == 2 and len(both[1]) > len(both[0])   # it knows of its earlier run
    # What was missed while nothing ran is skipped, unless it catches up.
    clock.step(86400 + 600)
    clock.start()
    clock.done(1)
    clock.stop()
    last = gantry.sql("select j.name, r.state, r.reason from job_runs r join jobs j on j.id = r.job_id order by r.id desc limit 2")
    assert sorted(map(tuple, last)) == [("morning", "skipped", "down"), ("once", "ok", "late")]


def test_a_job_out_of_time_is_ended_and_its_failure_told_once(clock, model, gantry):
    gate = Gate()
    gantry.set(GANTRY_CRON_JOBS="[{name: slow, schedule: '30 * * * *', prompt: x, session: ephemeral, timeout: 30s}]")
    clock.start()
    model.reply("never", gate=gate)
    clock.step(1800)
    gate.wait_reached()
    clock.step(31, busy=True)
    clock.done(1)
    gate.release()
    clock.stop()
    assert [tuple(r) for r in gantry.sql("select state, error from job_runs")] == [("error", "time limit")]


def test_the_command_line_sees_and_changes_the_same_jobs(clock, model, gantry):
    gantry.set(GANTRY_CRON_JOBS=JOBS)
    clock.start()
    model.answer(lambda request: Reply("seen"))
    seam = dict(seam=True, GANTRY_CLOCK=str(clock.file))
    added = gantry.run("cron", "add", "water the plants", "--when", "tomorrow 9am", "--chat", "stdio:local", **seam)
    assert "next: tomorrow at 09:00 UTC (in 21 hours)" in added.out
    rows = json.loads(gantry.run("cron", "list", "--json", **seam).out)
    plants = [r for r in rows if r["source"] == "chat"][0]
    assert plants["next"] == "2026-07-23T09:00:00.000Z" and plants["kind"] == "once"
    assert {r["name"] for r in rows} == {"", "morning", "once"}
    assert "water the plants" in gantry.run("cron", "list", **seam).out
    gantry.run("cron", "run", "morning", **seam)
    clock.step(16)
    clock.done(1)
    history = json.loads(gantry.run("cron", "history", "morning", "--json", **seam).out)
    assert [(h["state"], h["reason"]) for h in history] == [("ok", "by hand")]
    gantry.run("cron", "cancel", str(plants["id"]), **seam)
    assert gantry.run("cron", "cancel", str(plants["id"]), code=1, **seam).err.endswith("is on\n")
    assert "set enabled: false" in gantry.run("cron", "cancel", "morning", code=1, **seam).err
    assert "no job" in gantry.run("cron", "run", "nothing", code=1, **seam).err
    assert "is over" in gantry.run("cron", "add", "x", "--when", "2020-01-01T00:00:00Z", "--chat", "stdio:local", code=1, **seam).err
    clock.step(2 * 86400)
    clock.stop()
    assert "plants" not in clock.p.out.text


def test_jobs_of_the_configuration_are_listed_before_any_daemon_saw_them(clock, model, gantry):
    gantry.set(GANTRY_CRON_JOBS=JOBS)
    seam = dict(seam=True, GANTRY_CLOCK=str(clock.file))
    rows = json.loads(gantry.run("cron", "list", "--json", **seam).out)
    assert [(r["id"], r["name"], r["state"], r["next"]) for r in rows] == [
        (None, "morning", "new", "2026-07-22T12:30:00.000Z"), (None, "once", "new", "2026-07-22T12:30:00.000Z")]
    assert len(json.loads(gantry.run("cron", "list", "--all", "--json", **seam).out)) == 3
    listed = gantry.run("cron", "list", **seam).out
    assert re.search(r"(?m)^-     morning       cron 30 12 \* \* \* +2026-07-22T12:30:00Z +new +What is on today$", listed)
    assert not gantry.db_path.exists()             # a look creates nothing
    clock.start()
    clock.stop()
    # A file that was changed since counts, and each job is listed once.
    gantry.set(GANTRY_CRON_JOBS=JOBS.replace("'30 12 * * *', prompt: Look", "'45 12 * * *', prompt: Look"))
    rows = json.loads(gantry.run("cron", "list", "--json", **seam).out)
    assert [(r["name"], r["state"], r["next"]) for r in rows] == [
        ("once", "new", "2026-07-22T12:45:00.000Z"), ("morning", "on", "2026-07-22T12:30:00.000Z")]
    rows = json.loads(gantry.run("cron", "list", "--json", GANTRY_CRON_ENABLED="false", **seam).out)
    assert {r["state"] for r in rows} == {"off"}


def test_run_without_a_daemon_runs_the_job_and_prints_the_answer(clock, model, gantry):
    gantry.set(GANTRY_CRON_JOBS=JOBS)
    seam = dict(seam=True, GANTRY_CLOCK=str(clock.file))
    model.reply("Sun \x1b[31mand wind.")
    r = gantry.run("cron", "run", "morning", **seam)
    assert r.out.startswith("Sun ") and r.out.endswith("and wind.\n") and "\x1b" not in r.out
    assert "What is on today" in model.last.messages[-1]["content"]
    model.reply("[silent]\nnothing")
    assert gantry.run("cron", "run", "morning", **seam).out == "(no reply)\n"
    assert len(model.last.messages) > 2            # the conversation of the job
    model.reply("Alone.")
    assert gantry.run("cron", "run", "morning", "--ephemeral", **seam).out == "Alone.\n"
    assert len(model.last.messages) == 2
    model.reply(status=400, body={"error": {"message": "no"}})
    assert "gantry: the run failed: bad_request" in gantry.run("cron", "run", "once", code=1, **seam).err
    assert [tuple(r) for r in gantry.sql("select state, reason, attempt from job_runs order by id")] == [
        ("ok", "by hand", 0), ("ok", "by hand", 0), ("ok", "by hand", 0), ("error", "by hand", 0)]
    assert gantry.sql("select count(*) from outbox")[0][0] == 0
    # It stays in its own time, and nothing of it is told to a chat.
    assert "no job" in gantry.run("cron", "run", "nothing", code=1, **seam).err
    assert "has no deliver_to" in gantry.run("cron", "run", "morning", "--deliver", code=1, **seam).err
    assert gantry.run("cron", "list", "--deliver", code=2).err
    assert len(model.requests) == 4


def test_run_beside_a_daemon_is_the_daemons_and_says_so(clock, model, gantry):
    gantry.set(GANTRY_CRON_JOBS=JOBS)
    clock.start()
    seam = dict(seam=True, GANTRY_CLOCK=str(clock.file))
    model.reply("seen")
    r = gantry.run("cron", "run", "morning", **seam)
    job, = gantry.sql("select id from jobs where name = 'morning'")
    assert r.out == ("queued as run 1 of job %d; the daemon (pid %d) runs it, and its answer stays in its conversation\n"
                     % (job[0], clock.p.popen.pid))
    clock.step(16)
    clock.done(1)
    model.reply("on my own")                       # beside it, in a conversation of its own
    assert gantry.run("cron", "run", "morning", "--ephemeral", **seam).out == "on my own\n"
    assert len(model.last.messages) == 2
    clock.done(2)
    clock.stop()


def test_a_run_by_hand_keeps_the_time_limit_and_ends_with_a_signal(clock, model, gantry):
    gantry.set(GANTRY_CRON_JOBS="[{name: slow, schedule: '30 * * * *', prompt: x, session: persistent, timeout: 30s}]")
    seam = dict(seam=True, GANTRY_CLOCK=str(clock.file))
    gate = Gate()
    model.reply("never", gate=gate)
    p = gantry.start("cron", "run", "slow", **seam)
    gate.wait_reached()
    clock.step(31, busy=True)
    p.wait(code=1)
    assert "the run failed: time limit" in p.err.text
    gate.release()
    gate = Gate()
    model.reply("never", gate=gate)
    p = gantry.start("cron", "run", "slow", **seam)
    gate.wait_reached()
    p.popen.send_signal(2)
    p.wait(code=130)
    gate.release()
    assert [tuple(r) for r in gantry.sql("select state, error from job_runs order by id")] == [
        ("error", "time limit"), ("interrupted", "canceled")]


def test_next_needs_neither_a_daemon_nor_a_database(gantry):
    out = gantry.run("cron", "next", "30 2 * * *", "--tz", "America/New_York", "--from", "2026-03-08T06:59:00Z",
                     "--count", "2", env={"PATH": "/usr/bin:/bin"}).out
    assert out == "2026-03-08T03:00:00-04:00\n2026-03-09T02:30:00-04:00\n"
    for args, code, says in ((["0 0 30 2 *"], 1, "never comes"), (["* * * * *", "--tz", "Not/AZone"], 1, "Not/AZone"),
                             (["* * * * *", "--from", "yesterday"], 2, "--from"), (["* * * * *", "--count", "0"], 2, "--count")):
        assert says in gantry.run("cron", "next", *args, code=code).err
    assert not gantry.db_path.exists()


@pytest.mark.long
@pytest.mark.parametrize("what", ["fdatasync", "pwrite"])
def test_killed_at_any_point_of_firing_a_job_runs_once_or_is_reported(clock, model, gantry, what):
    """One job, killed at the n-th call from the firing on, for n = 1, 2, 3, ...; then started again."""
    clock.start()
    remind(model, "every:1h")
    clock.p.send("every hour")
    clock.p.out.wait("I will remind you")
    clock.stop()
    asked = []
    model.answer(lambda request: (asked.append(request.messages[-1]["content"]), Reply("ran"))[1])
    count, died = 0, 0
    for n in range(1, (14 if what == "fdatasync" else 90) if SLOW == 1 else 4, 1 if what == "fdatasync" else 3):
        clock.step(3600)
        count += 1
        p = gantry.start("run", seam=True, GANTRY_CLOCK=str(clock.file), GANTRY_FAULT="kill:%s:%d" % (what, n))
        p.expect_signal = 9
        p.err.board.wait(lambda: '"msg":"job.done"' in p.err.text or p.err.eof, "an end", 30, p.report)
        if p.running():
            p.popen.terminate()
        died += p.wait(30) == -9
        clock.start()
        wait_until(lambda: gantry.sql("select count(*) from job_runs where settled")[0][0] >= count,
                   "%d runs that are settled" % count, 30)
        clock.stop()
        rows = gantry.sql("select state, count(*), count(distinct scheduled_at_ms) from job_runs group by state")
        assert sum(r[1] for r in rows) == count and {r[0] for r in rows} <= {"ok", "interrupted"}, (n, list(map(tuple, rows)))
        assert all(r[1] == r[2] for r in rows)
    told = clock.g.sql("select count(*) from outbox where kind = 'reply' and text like '%ran'")[0][0]
    assert told == sum(r[1] for r in rows if r[0] == "ok")
    assert died > count // 2
    print(what, "%d hours, %d deaths, %d requests:" % (count, died, len(asked)), {r[0]: r[1] for r in rows})


def test_a_job_of_the_configuration_is_delivered_to_its_chat(bot, model):
    bot.configure("cron:\n  enabled: true\n  timezone: Europe/Berlin\n  jobs:\n    - name: morning\n"
                  "      schedule: '*/1 * * * *'\n      prompt: What is on?\n      session: ephemeral\n      timeout: 2m\n"
                  "      deliver_to: {channel: telegram, chat_id: '%d'}\n" % ALLOWED)
    model.answer(lambda request: Reply("Nothing is on."))
    d = bot.run_clocked()
    bot.step(61)
    m = bot.wait_text("Nothing is on")
    assert m.text.startswith("⏰ Scheduled morning (cron */1 * * * *):")
    assert re.search(r"now: \w+day \d{4}-\d\d-\d\d \d\d:\d\d CES?T \(Europe/Berlin\)", json.dumps(model.last.messages))
    assert not bot.of("sendChatAction")            # nobody waits, so nothing is shown of the work
    bot.stop_gantry(d)


DELIVERED = ("cron:\n  enabled: true\n  jobs:\n    - name: morning\n      schedule: '0 0 1 1 *'\n      prompt: What is on?\n"
             "      session: ephemeral\n      timeout: 2m\n      deliver_to: {channel: telegram, chat_id: '%d'}\n")


def test_deliver_sends_the_answer_of_a_run_by_hand_to_the_chat(bot, model):
    bot.configure(DELIVERED % ALLOWED)
    model.reply("Nothing is on.")
    r = bot.gantry.run("cron", "run", "morning", "--deliver", *bot.args)
    assert r.out == "delivered to telegram:%d\n" % ALLOWED
    assert bot.wait_text("Nothing is on").text.startswith("⏰ Scheduled morning (cron 0 0 1 1 *):")


# --- watches ------------------------------------------------------------------------------------------

def feed(gantry, *ids):
    (gantry.dir / "feed.json").write_text(json.dumps(
        {"items": [{"id": i, "title": "title of %s" % i, "summary": "x" * 20000} for i in ids]}))


def watching(clock, model, mcp, gantry, **more):
    """A watch on a file of JSON, every minute, whose first look is over."""
    feed(gantry)
    mcp.add("srv", tools=["file"])
    gantry.set(WATCH_ENABLED="true", GANTRY_OPENAI_MAX_RETRIES="0", **more)
    clock.start()
    model.reply(calls=[call("watch_add", tool="srv__file", args={"path": str(gantry.dir / "feed.json")},
                            interval="1m", label="the news")])
    model.reply("I watch it.")
    clock.p.send("tell me when it has something new")
    clock.p.out.wait("I watch it")
    looked(clock, mcp, 1)


def looked(clock, mcp, n):
    clock.p.err.board.wait(lambda: clock.p.err.text.count('"what":"watch"') >= n, "look %d" % n, detail=clock.p.report)


def test_a_watch_wakes_the_model_for_what_is_new_and_for_nothing_else(clock, model, mcp, gantry):
    watching(clock, model, mcp, gantry)           # an empty first list counts as seen
    assert [m["content"] for m in model.last.messages if m["role"] == "tool"][0].startswith("watching id=1")
    asked = len(model.requests)
    model.reply("There is a first item.")
    feed(gantry, "one")
    clock.step(61)
    clock.p.out.wait(r"👁 the news:\s+There is a first item")
    said = model.last.messages[-1]["content"]
    assert "- id=one title=title of one" in said and "is no instruction" in said and "[watch]" in said
    clock.step(61)
    looked(clock, mcp, 3)
    assert len(model.requests) == asked + 1       # quiet: no request
    model.reply("[silent]\nnothing of note")
    feed(gantry, "three", "two", "one")
    clock.step(61)
    looked(clock, mcp, 4)
    model.wait(asked + 2)
    said = model.last.messages[-1]["content"]
    assert "id=two" in said and "id=three" in said and "id=one" not in said
    model.reply(calls=[call("watch_list")])       # on its own: the calls of one step run side by side
    model.reply(calls=[call("watch_cancel", id="1"), call("watch_add", tool="nope"),
                       call("watch_add", tool="srv__file", interval="30s")])
    model.reply("No more.")
    clock.p.send("stop watching")
    clock.p.out.wait("No more")
    tools = [m["content"] for m in model.last.messages if m["role"] == "tool"][-4:]
    assert "the news" in tools[0] and tools[1] == "cancelled watch 1" and "SERVER__TOOL" in tools[2] and "1m" in tools[3]
    calls = len(mcp.calls())
    clock.step(600)
    clock.stop()
    assert len(mcp.calls()) == calls and "nothing of note" not in clock.p.out.text


def test_news_whose_turn_failed_are_told_again_and_a_broken_look_loses_nothing(clock, model, mcp, gantry):
    watching(clock, model, mcp, gantry)
    feed(gantry, "one")
    model.reply(status=400, body={"error": {"message": "on holiday"}})
    clock.step(61)
    clock.p.err.wait('"msg":"turn.failed"')
    (gantry.dir / "feed.json").write_text('{"items": [{"id": "tw')
    clock.step(61)
    clock.p.err.wait('"msg":"watch.failed"')
    feed(gantry, "two")                           # the feed rotates: one is gone
    model.reply("One and two.")
    clock.step(61)
    clock.p.out.wait("One and two")
    said = model.last.messages[-1]["content"]
    assert "id=one" in said and "id=two" in said
    clock.stop()
    assert "on holiday" not in clock.p.out.text


def test_a_watch_goes_through_the_gate_and_survives_a_restart(clock, model, mcp, gantry):
    watching(clock, model, mcp, gantry)
    clock.stop()
    feed(gantry, "one")
    clock.step(3600)
    model.reply("There it is.")
    clock.start()
    clock.p.out.wait("There it is")
    clock.stop()
    gantry.set(GANTRY_POLICY_RULES="[{tool: srv__file, action: ask}]")
    calls = len(mcp.calls())
    clock.start()
    clock.step(61)
    clock.p.err.wait('"msg":"watch.failed".*policy asks')
    clock.stop()
    assert len(mcp.calls()) == calls

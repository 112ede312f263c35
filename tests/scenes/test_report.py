"""What a span of time came to: gantry usage, /usage, and the report as a page."""

import html.parser
import json
import os
import re
import stat
import struct
import subprocess
import xml.etree.ElementTree

import pytest

from fakes.model import call
from harness.watch import Gate, wait_files

USAGE = {"prompt_tokens": 1000000, "completion_tokens": 1000, "total_tokens": 1001000,
         "prompt_tokens_details": {"cached_tokens": 600000}}
PRICES = """
models:
  currency: EUR
  prices: [{model: "test-*", input: 2, cached_input: 0.5, output: 8}]
"""


def configured(gantry, text=PRICES):
    """Start from a file, on standard input: the options for it."""
    path = gantry.dir / "config.yaml"
    path.write_text("""
agent: {model: test-model, persona_dir: %s}
openai: {api_key_env: LLM_API_KEY, base_url: %s}
storage: {dsn: %s}
mcp: {manifest: %s}
gateway: {channel: stdio}
cron: {timezone: UTC}
tools: {filesystem: {enabled: false}, web_fetch: {enabled: false}, exec: {enabled: false}}
%s""" % (gantry.persona, gantry.model.url, gantry.db_path, gantry.manifest, text), encoding="utf-8")
    return ["--config", str(path)]


def usage(gantry, *args):
    text = gantry.run(*args[:2], "usage", *args[2:]).out
    return text, json.loads(gantry.run(*args[:2], "usage", "--json", *args[2:]).out)


@pytest.fixture
def worked(gantry, model, mcp):
    """Three turns: one with two tools, one that was not counted, one that failed; the options."""
    mcp.add("srv", tools=["echo", "fail"])
    model.reply(calls=[call("srv__echo", text="x"), call("srv__fail")], usage=USAGE)
    model.reply("first", usage=USAGE)
    model.reply("second", usage={})
    model.reply(status=400, body={"error": {"message": "no"}})
    options = configured(gantry)
    gantry.run(*options, "run", input="one\ntwo\nthree\n")
    return options


def test_usage_counts_by_day_session_tool_and_model(gantry, worked):
    text, doc = usage(gantry, *worked)
    day, = doc["rows"]
    assert (day["turns"], day["requests"], day["failed_requests"], day["tool_calls"]) == (3, 4, 1, 2)
    assert day["cached_tokens"] == 1200000 and day["prompt_tokens"] > 2000000 and day["estimated_requests"] == 1
    # Two requests: 400k at 2, 600k at 0.5, 1k at 8, and a little for the one that is estimated.
    assert re.match(r"2\.\d\d EUR$", day["cost"]) and day["cost_estimated"] and not day["cost_at_least"]
    assert "~" in text and "estimates" in text and day["day"] in text
    assert max(len(line) for line in text.splitlines()) <= 90
    text, doc = usage(gantry, *worked, "--by", "tool")
    assert {(r["tool"], r["done"], r["failed"]) for r in doc["rows"]} == {("srv__echo", 1, 0), ("srv__fail", 0, 1)}
    assert "100%" in text and "srv__fail" in text
    _, doc = usage(gantry, *worked, "--by", "session")
    assert [r["turns"] for r in doc["rows"]] == [3] and doc["rows"][0]["where"].startswith("stdio")
    text, doc = usage(gantry, *worked, "--by", "model")
    assert [r["model"] for r in doc["rows"]] == ["test-model"] and doc["rows"][0]["failed_requests"] == 1
    assert "http" not in text


def test_usage_says_when_there_is_nothing_and_refuses_what_is_no_time(gantry, model):
    assert "no database yet" in gantry.run("usage").out
    assert json.loads(gantry.run("usage", "--json").out)["rows"] == []
    model.reply("hi")
    gantry.talk("hello")
    tomorrow = "2999-01-01"
    assert "nothing was done" in gantry.run("usage", "--since", tomorrow).out
    assert json.loads(gantry.run("usage", "--since", tomorrow, "--json").out)["rows"] == []
    row, = json.loads(gantry.run("usage", "--since", "1d", "--json").out)["rows"]
    assert row["cost"] is None and row["turns"] == 1 and not row["cost_estimated"]
    for bad in (["--since", "soon"], ["--by", "moon"], ["extra"], ["--since"]):
        assert gantry.run("usage", *bad, code=2).err


def test_usage_in_chat_tells_today_this_month_and_this_session(gantry, model):
    options = configured(gantry)
    model.reply("first", usage=USAGE)
    model.reply("second", usage={})
    p = gantry.start(*options, "run")
    p.send("/usage")
    p.out.wait("today: 0 turns, 0 requests")
    p.send("one")
    p.out.wait("first")
    p.send("/usage")
    p.out.wait(r"today: 1 turn, 1 request, 0 tool calls, tokens 1000000 in \(600000 cached\), 1000 out, cost 1.11 EUR")
    p.out.wait("this month: 1 turn, 1 request")
    p.out.wait("this session: 1 turn, 1 request")
    p.send("two")
    p.out.wait("second")
    p.send("/usage")
    p.out.wait(r"this session: 2 turns, 2 requests, 0 tool calls, tokens ~\d+ in .*cost ~1.11 EUR")
    p.out.wait("~ holds estimates")
    p.close_stdin()
    p.wait(code=0)


def test_days_are_those_of_the_configured_zone(gantry, model):
    """A turn at 23:30 UTC is of the next day in Berlin."""
    model.reply("late")
    gantry.talk("hello")
    con_time = 1796081400000    # 2026-11-30T23:30:00Z
    subprocess.run(["/usr/bin/python3", "-c", """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1]); t = int(sys.argv[2])
c.execute("update turns set started_at_ms = ?, finished_at_ms = ? + 5", (t, t))
c.execute("update usage set minute_at_ms = ? where rowid = (select min(rowid) from usage)", (t,))
c.execute("delete from usage where minute_at_ms <> ?", (t,))
c.execute("update model_calls set started_at_ms = ?", (t,))
c.commit()""", str(gantry.db_path), str(con_time)], check=True)
    clock = gantry.dir / "clock"
    import time
    clock.write_bytes(struct.pack("=q", con_time + 3 * 86400000 - int(time.time() * 1000)))
    for zone, day in (("UTC", "2026-11-30"), ("Europe/Berlin", "2026-12-01")):
        doc = json.loads(gantry.run("usage", "--json", seam=True, GANTRY_CLOCK=str(clock), CRON_TZ=zone).out)
        assert [r["day"] for r in doc["rows"]] == [day], doc


# --- the page ----------------------------------------------------------------------------------


class Reader(html.parser.HTMLParser):
    """Every tag must be closed, and nothing may refer to anything."""

    VOID = {"meta", "rect", "line", "circle", "polyline"}

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            assert name not in ("src", "href", "xlink:href", "action", "srcset", "data"), (tag, name, value)
            assert not name.startswith("on"), (tag, name)
            assert name == "content" or "://" not in (value or ""), (tag, name, value)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.open)

    def handle_data(self, data):
        self.text += data


def judged(page):
    """The page, read by both parsers; nothing in it comes from outside."""
    xml.etree.ElementTree.fromstring(page)
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    assert not {"script", "link", "iframe", "img", "object", "embed", "base", "form", "foreignobject"} & set(reader.tags)
    for word in ("http:", "https:", "url(", "@import", "javascript:", "data:", "\u202e", "\x1b"):
        assert word not in page, word
    return reader


def test_the_report_is_one_page_that_needs_nothing_else(gantry, worked):
    out = gantry.dir / "report.html"
    assert "wrote" in gantry.run(*worked, "report", "--html", str(out)).out
    assert stat.S_IMODE(os.stat(out).st_mode) == 0o600
    page = out.read_text(encoding="utf-8")
    reader = judged(page)
    for title in ("Turns", "Time to the answer", "Tokens", "Cost", "Tools", "Schedules", "Sessions that used most tokens",
                  "Errors by kind", "Models"):
        assert title in reader.text
    assert "srv__echo" in reader.text and "test-model" in reader.text and "tool: srv__fail failed" in reader.text
    assert re.search(r"~2\.\d\d EUR", reader.text) and "prefers-color-scheme: dark" in page
    # A table stands behind each chart, and charts are not read out twice.
    charts = page.count('aria-hidden="true">\n')
    assert charts >= 6 and reader.tags.count("table") == charts + 1
    assert judged(gantry.run(*worked, "report", "--html", "-", "--since", "7d").out)


def test_hostile_names_do_not_leave_their_place(gantry, model):
    evil = ["</text><script>alert(1)</script>", "\u202e\u2066evil", "a\"onload='x'", "]]>&amp;<!--", "x" * 5000]
    model.reply(calls=[call(name, text="a") for name in evil])
    model.reply("done")
    gantry.talk("go")
    reader = judged(gantry.run("report", "--html", "-").out)
    assert "<script>alert(1)</script>" in reader.text


def test_the_report_works_beside_a_daemon_and_says_when_there_is_nothing(gantry, model):
    assert "no database yet" in gantry.run("report", "--html", "-", code=1).err
    gate = Gate()
    model.reply("slow", gate=gate)
    p = gantry.daemon()
    p.send("go")
    model.wait(1)
    reader = judged(gantry.run("report", "--html", "-").out)
    assert "not over" in reader.text and reader.text.count("Nothing in this time.") >= 5
    assert gantry.run("usage").out and gantry.run("queue", "list").out
    assert "running" in gantry.run("trace", "last").out.splitlines()[0]
    gate.release()
    p.out.wait("slow")
    p.close_stdin()
    p.wait(code=0)
    assert gantry.run("report", code=2).err and gantry.run("report", "--html", "-", "--since", "x", code=2).err
    assert gantry.run("report", "--html", str(gantry.dir / "no" / "such" / "place"), code=1).err


def test_looking_back_writes_nothing(gantry, model):
    model.reply("hi")
    gantry.talk("hello")
    before = {f: f.read_bytes() for f in gantry.data.rglob("*") if f.is_file()}
    for args in (["usage"], ["usage", "--by", "session"], ["report", "--html", "-"], ["trace", "last"], ["queue", "list"]):
        gantry.run(*args)
    after = {f: f.read_bytes() for f in gantry.data.rglob("*") if f.is_file()}
    after = {f: b for f, b in after.items() if not f.name.endswith("-shm")}
    assert after == {f: b for f, b in before.items() if not f.name.endswith("-shm")} or set(after) - set(before) <= {
        gantry.db_path.with_name("gantry.db-wal")}

"""Memory is tidied up by itself: what lasts is kept once, whatever happens meanwhile."""

import itertools
import json
import re
import sqlite3

import pytest

from fakes.model import Reply


def change(gantry, *statements):
    """Write to the database of a daemon that does not run."""
    con = sqlite3.connect(gantry.db_path)
    with con:
        for s in statements:
            con.execute(s)
    con.close()


def start_over(gantry, episodes):
    change(gantry, "DELETE FROM memory", "DELETE FROM memory_tombstones", "DELETE FROM consolidated", "DELETE FROM system_rows",
           "INSERT OR REPLACE INTO heartbeats (part, beat_at_ms) VALUES ('consolidation', 1)",
           *["INSERT INTO memory (kind, subject, content, source, created_at, updated_at) VALUES ('episode', "
             "'e', 'episode %d', 'chat', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')" % i
             for i in range(episodes)])


def facts(gantry):
    return [r["content"] for r in gantry.sql("SELECT content FROM memory WHERE kind = 'fact' ORDER BY id")]


def tidy(asked=itertools.count()):
    """Copes with two episodes at a time; never says the same twice."""
    def aside(request):
        found = re.findall(r"e: episode (\d+)", request.user.partition("New:")[2])
        if len(found) > 2:
            return Reply("That is too much for me.")
        return Reply(json.dumps([{"subject": "e", "content": "fact of %s, told %d" % (n, next(asked))} for n in found]))
    return aside


@pytest.fixture
def remembering(gantry, model):
    gantry.set(MEMORY_ENABLED="true", MEMORY_CONSOLIDATE_MINUTES="1")
    model.reply("hello")
    gantry.talk("hi")
    return gantry


def test_episodes_become_facts_while_the_daemon_runs(remembering, model):
    g = remembering
    start_over(g, 5)
    model.aside = tidy()
    d = g.daemon()
    d.err.wait('"memory.consolidated"')
    d.close_stdin()
    d.wait(code=0)
    assert sorted(x.split(",")[0] for x in facts(g)) == ["fact of %d" % i for i in range(5)]
    assert g.sql("SELECT count(*) AS n FROM memory WHERE kind = 'episode'")[0]["n"] == 5


def test_nothing_new_asks_nobody(remembering, model):
    g = remembering
    start_over(g, 0)
    d = g.daemon()
    d.err.wait('"what":"consolidate"')
    d.close_stdin()
    d.wait(code=0)
    assert not model.asides


@pytest.mark.long
@pytest.mark.parametrize("what", ["fdatasync", "pwrite"])
def test_killed_at_any_point_it_loses_and_doubles_nothing(remembering, model, what):
    g = remembering
    step, died = (1 if what == "fdatasync" else 9), 0
    model.aside = tidy()
    for n in itertools.count(1, step):
        start_over(g, 5)
        p = g.start("run", seam=True, GANTRY_FAULT="kill:%s:%d" % (what, n))
        p.err.board.wait(lambda: p.err.eof or b'"memory.consolidated"' in p.err.data, "its death or its end")
        p.close_stdin()
        p.wait()
        killed = p.popen.returncode == -9
        died += killed
        d = g.daemon()
        if len(facts(g)) < 5 or g.sql("SELECT count(*) AS n FROM system_rows")[0]["n"]:
            d.err.wait('"what":"consolidate"')
        d.close_stdin()
        d.wait(code=0)
        assert sorted(x.split(",")[0] for x in facts(g)) == ["fact of %d" % i for i in range(5)], (what, n)
        if not killed:
            break
    print("\n%s: killed %d times" % (what, died))
    assert died >= 6

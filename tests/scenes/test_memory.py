"""What the agent remembers: over /new and restarts, once under kills, and nowhere when forgotten."""

import json
import re
import signal
import sqlite3
import subprocess

import pytest

from fakes.model import Reply, call

FACT = {"kind": "person", "subject": "mom", "content": "prefers calls over texts"}


def system_of(request):
    return next((m["content"] for m in request.messages if m["role"] == "system"), "")


def test_what_was_stored_is_there_after_new(gantry, model):
    model.reply(calls=[call("memory_store", **FACT)])
    model.reply("noted")
    model.reply("By phone.")
    model.reply(calls=[call("memory_recall", query="how do I reach mom?")])
    model.reply("By phone, as I said.")
    gantry.talk("remember that mom prefers calls over texts")
    gantry.talk("/new")
    gantry.talk("should I text mom?", "are you sure?")
    assert model.requests[1].results == ["stored id=1 kind=person subject=mom"]
    after = model.requests[2]
    assert len(after.messages) == 2
    assert system_of(after).endswith("[memory]\n- (person) mom: prefers calls over texts")
    assert model.last.results == ["id=1 (person) mom: prefers calls over texts"]


def test_hits_stand_at_the_message_and_what_was_sent_stays(gantry, model):
    gantry.run("memory", "store", "episode", "climbing", "climbed in Chamonix")
    for _ in range(3):
        model.reply("ok")
    gantry.talk("hello", "how was Chamonix?", "thanks")
    first, second, third = (r.messages for r in model.requests)
    assert "[memory]" not in first[-1]["content"]
    assert second[-1]["content"].endswith("\n\n[memory]\n- (episode) climbing: climbed in Chamonix")
    assert second[:2] == first
    assert third[:5] == second + [{"role": "assistant", "content": "ok"}]


def test_memory_can_be_switched_off(gantry, model):
    gantry.run("memory", "store", "fact", "home", "near the lake")
    model.reply("ok")
    gantry.talk("hello home", MEMORY_ENABLED="false")
    assert not [t for t in model.last.tools if t.startswith("memory_")]
    assert "lake" not in json.dumps(model.last.body)


def test_the_command_line_works_beside_a_daemon(gantry, model):
    model.answer(lambda r: Reply("ok"))
    d = gantry.daemon()
    d.send("hello")
    d.out.wait("ok")
    assert gantry.run("memory", "store", "fact", "home", "near the lake").out == "stored id=1\n"
    assert gantry.run("memory", "store", "fact", "Home", "near the lake.").out == "known already: id=1\n"
    d.send("once more")
    model.wait(2)
    d.out.wait("ok")
    assert system_of(model.last).endswith("[memory]\n- (fact) home: near the lake")
    assert gantry.run("memory", "search", "where is home?").out == "1\t(fact) home: near the lake\n"
    assert gantry.run("memory", "forget", "--query", "lake").out == "1\t(fact) home: near the lake\n"
    d.send("and again")
    model.wait(3)
    d.out.wait("ok")
    assert "lake" not in json.dumps(model.last.body)
    assert gantry.run("memory", "show", "1", code=1).err.endswith("gantry: no memory with id 1\n")
    d.finish()


def test_an_export_is_taken_back(gantry):
    for n in range(3):
        gantry.run("memory", "store", "fact", "s%d" % n, "content %d" % n)
    rows = gantry.run("memory", "export").out
    assert [json.loads(line)["subject"] for line in rows.splitlines()] == ["s0", "s1", "s2"]
    gone = gantry.run("memory", "forget", "2", "--json").out
    assert json.loads(gone)["content"] == "content 1"
    assert gantry.run("memory", "import", "-", input=rows).out == "imported 1, 2 were there already\n"
    assert gantry.run("memory", "export").out == rows
    bad = gantry.run("memory", "import", "-", input='{"kind":"fact","subject":"x","content":"y"}\n{"kind":"odd"}\n',
                     code=1)
    assert "line 2: kind must be" in bad.err
    assert len(gantry.run("memory", "list", "--json").out.splitlines()) == 3
    assert gantry.run("memory", "frob", code=2).err.startswith("gantry memory: say list")


def everything(gantry):
    """All text in all tables, but what people and the model said; each line with its table."""
    out = []
    for (table,) in gantry.sql("select name from sqlite_schema where type = 'table' and name not like 'sqlite%'"):
        if table in ("turn_messages", "inbox", "outbox", "pieces"):
            continue
        try:
            rows = gantry.sql("select * from %s" % table)
        except sqlite3.Error:
            continue
        for row in rows:
            out += [table + ": " + (v if isinstance(v, str) else bytes(v).decode("utf-8", "replace"))
                    for v in row if isinstance(v, (str, bytes))]
    out += [r[0] for r in gantry.sql("select context || wire || content from turn_messages where role <> 'user'")]
    out += [r[0] for r in gantry.sql("select context from turn_messages")]
    return out


@pytest.mark.parametrize("args,said", [({"id": 1}, "forgot id=1"),
                                       ({"query": "safe code"}, "forgot 1; tell the user what went, undo brings it back:"
                                                                "\nid=1 (fact) safe")])
def test_a_forgotten_row_is_nowhere(gantry, model, args, said):
    secret = "the code is zanzibar"
    model.reply(calls=[call("memory_store", kind="fact", subject="safe", content=secret)])
    model.reply("noted")
    model.reply(calls=[call("memory_recall", query="safe code")])
    model.reply("I know it.")
    model.reply("Still.")
    gantry.talk("keep what is in my head", "do you know the code of the safe?")
    gantry.talk("/new")
    gantry.talk("and the safe now?")
    assert [x for x in everything(gantry) if "zanzibar" in x]
    assert "zanzibar" in json.dumps(model.last.body)
    model.reply(calls=[call("memory_forget", **args)])
    model.reply("Forgotten.")
    model.reply("I do not know it.")
    before = len(model.requests)
    gantry.talk("forget the code of the safe", "what is the code of the safe?")
    assert model.requests[before + 1].results[-1] == said
    for request in model.requests[before + 2:]:
        assert "zanzibar" not in json.dumps(request.body)
    kept = gantry.sql("select content from memory_forgotten")
    assert [r["content"] for r in kept] == [secret]     # to be undone, until the conversation ends
    gantry.talk("/new")
    assert not [x for x in everything(gantry) if "zanzibar" in x]
    assert gantry.run("memory", "check").out.startswith("0 memories, 0 active; the index is sound")


@pytest.mark.parametrize("who", ["cli", "shell"])
def test_what_a_person_forgot_by_hand_comes_back_in_no_summary(gantry, model, who):
    gantry.set(GANTRY_AGENT_MAX_HISTORY_MESSAGES="10")
    gantry.run("memory", "store", "fact", "safe", "the code is zanzibar")
    model.answer(lambda r: Reply("I see."))
    model.aside = lambda r: Reply("Facts: they like tea. %sThey have a cat." % (
        "The code is zanzibar. " if "zanzibar" in json.dumps(r.body) else ""))
    d = gantry.daemon()
    d.send("my safe opens with zanzibar")
    model.wait(1)
    d.out.wait("I see")
    assert "[memory]\n- (fact) safe: the code is zanzibar" in json.dumps(model.last.body).replace("\\n", "\n")
    if who == "cli":
        gantry.run("memory", "forget", "1")
    else:
        subprocess.run(["/usr/bin/sqlite3", "-cmd", ".timeout 5000", str(gantry.db_path), "DELETE FROM memory WHERE id = 1"],
                       check=True)
    d.send("tea, please")
    model.wait(2)
    d.out.wait("I see")
    asked = json.dumps(model.last.body)
    assert asked.count("zanzibar") == 1         # what they said themselves
    for n in range(3, 8):
        d.send("more tea %d" % n)
        model.wait(n)
        d.out.wait("I see")
    d.err.wait('"msg":"history.folded"|history.folded')
    d.send("and again")
    model.wait(8)
    d.out.wait("I see")
    d.finish()
    assert "they like tea" in system_of(model.last) and "cat" in system_of(model.last)
    assert "zanzibar" not in json.dumps(model.last.body)
    # Nor is it kept anywhere, now that it is folded, but where they said it.
    assert [x for x in everything(gantry) if "zanzibar" in x] == ["sessions: my safe opens with zanzibar"]


def test_a_later_request_does_not_name_what_a_query_forgot(gantry, model):
    gantry.run("memory", "store", "person", "aunt Zelda", "is getting divorced")
    model.reply(calls=[call("memory_forget", query="Zelda divorced")])
    model.reply("Done.")
    model.reply("Sunny.")
    model.reply(calls=[call("memory_forget", undo=True)])
    model.reply("It is back.")
    gantry.talk("forget that family matter", "how is the weather?", "bring it back")
    assert "(person) aunt Zelda" in model.requests[1].results[-1]      # so that the user can be told
    for request in model.requests[2:4]:
        body = json.dumps(request.body)
        assert "Zelda" not in body and "divorce" not in body
        said = [m["content"] for m in request.messages if m["role"] == "tool"]
        assert said[0].endswith("\nid=1 (forgotten)")
    assert "aunt Zelda: is getting divorced" in model.last.results[-1]


def test_a_forget_by_query_can_be_undone_until_new(gantry, model):
    gantry.run("memory", "store", "fact", "home", "near the lake")
    gantry.run("memory", "store", "fact", "boat", "on the lake")
    model.reply(calls=[call("memory_forget", query="lake")])
    model.reply("gone")
    model.reply(calls=[call("memory_forget", undo=True)])
    model.reply("back")
    model.reply(calls=[call("memory_forget", query="boat")])
    model.reply("gone")
    model.reply(calls=[call("memory_forget", undo=True)])
    model.reply("sorry")
    gantry.talk("forget the lake", "no, bring it back", "forget the boat")
    gantry.talk("/new")
    gantry.talk("bring it back")
    assert "(fact) home" in model.requests[1].results[0] and "near" not in model.requests[1].results[0]
    assert model.requests[3].results[-1].startswith("brought back 2:")
    assert model.last.results == ["error: nothing was forgotten in this conversation"]
    assert [r["subject"] for r in gantry.sql("select subject from memory")] == ["home"]


def test_a_server_remembers_instead(gantry, model, mcp):
    mcp.add("brain", tools=["memory_store", "memory_recall", "memory_forget", "echo"])
    model.reply(calls=[call("memory_store", text="mom calls")])
    model.reply("noted")
    r = gantry.talk("remember mom", MEMORY_BACKEND="mcp:brain")
    assert r.out == "noted\n"
    assert set(model.requests[0].tools) >= {"memory_store", "memory_recall", "memory_forget", "brain__echo"}
    assert "brain__memory_store" not in model.requests[0].tools
    assert ("memory_recall", {"query": "remember mom"}) in mcp.calls("brain")
    assert ("memory_store", {"text": "mom calls"}) in mcp.calls("brain")
    # What the server recalled stands at the message.
    assert re.search(r"\n\n\[memory\]\n- \S", model.requests[0].messages[-1]["content"])
    assert not gantry.sql("select id from memory")
    r = gantry.run("run", input="hi\n", code=1, MEMORY_BACKEND="mcp:nobody")
    assert 'MEMORY_BACKEND: the manifest has no server "nobody"' in r.err


def test_the_documented_recipes_work_beside_a_daemon(gantry, model):
    """In a foreign shell, while gantry runs; the next prompt sees what it did."""
    model.answer(lambda r: Reply("ok"))
    d = gantry.daemon()
    d.send("hello")
    d.out.wait("ok")

    def shell(sql):
        done = subprocess.run(["sqlite3", "-cmd", ".timeout 20000", str(gantry.db_path), sql], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout
    shell("INSERT INTO memory (kind, subject, content, source, created_at, updated_at) VALUES "
          "('fact', 'home', 'the spare key is at the neighbours', 'operator', "
          "strftime('%Y-%m-%dT%H:%M:%fZ'), strftime('%Y-%m-%dT%H:%M:%fZ'))")
    assert shell("SELECT m.id, m.subject FROM memory_fts f JOIN memory m ON m.id = f.rowid "
                 "WHERE memory_fts MATCH 'neighbours' ORDER BY rank") == "1|home\n"
    d.send("hello again")
    model.wait(2)
    d.out.wait("ok")
    assert "spare key is at the neighbours" in system_of(model.last)
    shell("UPDATE memory SET content = 'under the mat' WHERE id = 1")
    d.send("hello again")
    model.wait(3)
    d.out.wait("ok")
    assert "under the mat" in system_of(model.last) and "neighbours" not in system_of(model.last)
    shell("DELETE FROM memory WHERE id = 1")
    d.send("hello again")
    model.wait(4)
    d.out.wait("ok")
    assert "[memory]" not in system_of(model.last)
    d.finish()


@pytest.mark.long
def test_a_death_anywhere_stores_once(gantry, model):
    """The seam build dies at the n-th fdatasync of a turn that stores; effect and result are one
    commit, so there is one row a message, whatever was lost."""
    def answer(r):
        n = r.user.split()[1]
        return Reply("noted " + n) if r.results else Reply(calls=[
            call("memory_store", kind="fact", subject="n" + n, content="number " + n)])
    model.answer(answer)
    died = 0
    gantry.run("memory", "check")
    for n in range(1, 40):
        p = gantry.start("run", seam=True, GANTRY_FAULT="kill:fdatasync:%d" % n)
        try:
            p.send("remember %d" % n)
        except BrokenPipeError:
            pass
        p.close_stdin()
        code = p.wait(120)
        gantry.procs.remove(p)
        if code == 0:
            break
        assert code == -signal.SIGKILL, p.report()
        died += 1
        rows = len(gantry.sql("select 1 from memory where subject = ?", "n%d" % n))
        done = gantry.sql("select 1 from tool_calls where state = 'done' and args like ?", '%%number %d"%%' % n)
        assert rows == len(done), "the effect without its result, or the other way round, at %d" % n
        gantry.talk()
        received = gantry.sql("select 1 from inbox where text = ?", "remember %d" % n)
        rows = gantry.sql("select 1 from memory where subject = ?", "n%d" % n)
        assert len(rows) == len(received), "%d rows of message %d" % (len(rows), n)
    assert died > 5


def test_a_forget_by_query_takes_every_match(gantry):
    lines = "".join(json.dumps({"kind": "fact", "subject": "s%d" % n, "content": "the secretword number %d" % n})
                    + "\n" for n in range(450))
    gantry.run("memory", "import", "-", input=lines)
    gone = gantry.run("memory", "forget", "--query", "secretword").out
    assert len(gone.splitlines()) == 450
    assert "secretword" not in gantry.run("memory", "search", "secretword").out

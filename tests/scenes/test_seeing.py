"""Looking back: a turn as a timeline, and the queues."""

import json
import re

import pytest

from fakes.model import call
from fakes.telegram import ALLOWED
from harness.fixtures import KEY
from harness.watch import Gate, wait_files

WIDTH = 80
USAGE = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010,
         "prompt_tokens_details": {"cached_tokens": 600}}


def turns(gantry):
    return [r["id"] for r in gantry.sql("select id from turns order by rowid")]


def trace(gantry, which="last", *args):
    """The timeline, which must fit, and the same as JSON."""
    text = gantry.run("trace", which, *args).out
    assert max(len(line) for line in text.splitlines()) <= WIDTH, text
    assert "\x1b" not in text
    return text, json.loads(gantry.run("trace", which, "--json", *args).out)


def line_of(text, word):
    found = [line for line in text.splitlines() if word in line]
    assert found, "%r is not in\n%s" % (word, text)
    return found[0]


def test_a_turn_is_shown_with_its_model_calls_tools_and_answer(gantry, model, mcp):
    mcp.add("srv", tools=["echo", "fail", "count"])
    model.reply("thinking", calls=[call("srv__echo", text="one " * 40), call("srv__fail")], usage=USAGE)
    model.reply("done", usage=USAGE)
    gantry.talk("go")
    text, doc = trace(gantry)
    kinds = re.findall(r"(?m)^ +\d+\.\d{3}.{25} (\w+)", text)
    assert sorted(kinds) == sorted(["queue", "model", "tool", "tool", "model", "end", "deliver"]), text
    assert "srv__echo: done, allow" in text and "srv__fail: failed, allow" in text
    assert "1000 in (600 cached), 10 out" in text and "2000 in (1200 cached), 20 out" in text
    assert "reply: done, 1 of 1 sent" in line_of(text, "deliver")
    assert "no price" in text and doc["cost"] is None and doc["unpriced_requests"] == 2
    assert [c["state"] for c in doc["tool_calls"]] == ["done", "failed"]
    assert [m["finish"] for m in doc["model_calls"]] == ["tool_calls", "stop"]
    assert doc["state"] == "done" and doc["deliveries"][0]["sent"] == 1
    assert doc["tokens"] == {"prompt": 2000, "cached": 1200, "completion": 20, "estimated_requests": 0}


def test_calls_that_ran_side_by_side_are_marked(gantry, model, mcp, tmp_path):
    mcp.add("srv", tools=["slow"])
    gates = [tmp_path / "a", tmp_path / "b"]
    model.reply(calls=[call("srv__slow", gate=str(g)) for g in gates])
    model.reply(calls=[call("srv__slow", gate=str(gates[0]))])
    model.reply("done")
    p = gantry.daemon()
    p.send("go")
    mcp.wait(lambda: len(mcp.calls()) == 2, "both calls")
    for g in gates:
        g.write_text("")
    p.out.wait("done")
    p.close_stdin()
    p.wait(code=0)
    text, _ = trace(gantry)
    assert len(re.findall(r"tool \|\|", text)) == 2 and len(re.findall(r"tool     ", text)) == 1, text


def test_what_the_model_did_not_count_is_marked_as_estimated_and_priced(gantry, model):
    model.reply("an answer", usage={})
    gantry.talk("go")
    text, doc = trace(gantry)
    assert re.search(r"tokens  ~\d+ in .*~\d+ out", text) and "~ estimated: 1 of 1" in text
    assert doc["tokens"]["estimated_requests"] == 1 and "prompt_tokens" not in doc["model_calls"][0]


def test_stopped_failed_and_interrupted_turns_say_how_they_ended(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    gate = Gate()
    model.reply("never", gate=gate)
    p = gantry.daemon()
    p.send("first")
    model.wait(1)
    p.send("/stop")
    p.out.wait("(?i)stopp")
    gate.release()
    model.reply(status=400, body={"error": {"message": "no such thing"}})
    p.send("second")
    wait_files(gantry.data, lambda: gantry.sql("select 1 from turns where state = 'failed'"), "a failed turn")
    # It dies in the middle of the third, and another process goes on.
    gate = Gate()
    model.reply("never", gate=gate)
    p.send("third")
    model.wait(3)
    p.kill()
    p.wait()
    gate.release()
    model.reply("third answer")
    q = gantry.daemon()
    q.out.wait("third answer")
    q.close_stdin()
    q.wait(code=0)
    first, second, third = turns(gantry)
    assert "stopped" in trace(gantry, first)[0].splitlines()[0]
    assert trace(gantry, first)[1]["state"] == "canceled"
    text, doc = trace(gantry, second)
    assert doc["state"] == "failed" and "round 1 failed: " in text and doc["model_calls"][0]["error"]
    text, doc = trace(gantry, third)
    assert "taken up 2 times" in text and doc["claims"] == 2 and doc["state"] == "done"


def test_a_question_shows_how_long_it_waited_and_who_answered(bot, gantry, model, mcp):
    mcp.add("srv", tools=["count"])
    bot.configure('policy: {rules: [{tool: "srv__count", action: ask}]}')
    model.reply(calls=[call("srv__count", label="bought")])
    model.reply("finished")
    bot.run()
    bot.say("buy it")
    prompt = bot.board.wait(lambda: next((m for m in bot.messages(ALLOWED) if m.buttons), None), "a prompt")
    wait_files(gantry.data, lambda: gantry.sql("select 1 from turns where state = 'parked'"), "a parked turn")
    config = ["--config", str(gantry.dir / "config.yaml")] if (gantry.dir / "config.yaml").exists() else bot.args
    parked = gantry.run(*config, "trace", "last").out
    assert "not over" in line_of(parked, "asked") and "parked" in parked.splitlines()[0]
    listed = json.loads(gantry.run(*config, "queue", "list", "--json").out)
    assert [(r["state"], r["queue"]) for r in listed] == [("parked", "inbox")]
    bot.press(prompt, "Yes")
    bot.wait_text("^finished$")
    text = gantry.run(*config, "trace", "last").out
    assert re.search("srv__count: used by .*%d" % ALLOWED, line_of(text, "asked")) or str(ALLOWED) in text, text
    assert "asked   1 question" in text and "taken up 2 times" in text


def test_secrets_and_hostile_names_are_not_shown(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    gantry.may_show_secrets = True      # the model says one: it stands in its message
    evil = "x\x1b[31m\u202eevil\nname"
    model.reply(calls=[call("srv__echo", text="key " + KEY + " end"), call(evil, text="a")])
    model.reply("done")
    gantry.talk("go")
    for out in (gantry.run("trace", "last").out, gantry.run("trace", "last", "--json").out):
        assert KEY not in out and "\x1b" not in out and "\u202e" not in out
        assert "[REDACTED]" in out


def test_trace_finds_turns_by_the_beginning_of_an_id_and_says_what_there_is_not(gantry, model):
    assert "no turn" in gantry.run("trace", "last", code=1).err
    model.reply("a")
    model.reply("b")
    gantry.talk("one", "two")
    first, second = turns(gantry)
    assert trace(gantry, first[:-1])[1]["turn"] == first
    assert trace(gantry)[1]["turn"] == second
    assert "several turns" in gantry.run("trace", first[:3], code=1).err
    assert "no turn ffff" in gantry.run("trace", "ffff", code=1).err
    session = gantry.sql("select id from sessions")[0]["id"]
    assert trace(gantry, "last", "--session", session)[1]["turn"] == second
    assert "gantry sessions list" in gantry.run("trace", "last", "--session", "nope", code=1).err
    assert gantry.run("trace", code=2).err and "example" in gantry.run("trace", "--help").out


# --- the queues ----------------------------------------------------------------------------


def queue(gantry, *config):
    return json.loads(gantry.run(*config, "queue", "list", "--json").out)


def test_a_failed_message_can_be_run_again_once(gantry, model):
    assert "no database" in gantry.run("queue", "list").out and queue(gantry) == []
    model.reply(status=400, body={"error": {"message": "no such thing"}})
    gantry.talk("say it")
    row, = queue(gantry)
    assert row["state"] == "failed" and row["text"] == "say it" and row["error"]
    assert row["id"] in gantry.run("queue", "list").out
    assert "queued again" in gantry.run("queue", "retry", row["id"]).out
    assert "not in the queue" in gantry.run("queue", "retry", row["id"], code=1).err
    assert [r["state"] for r in queue(gantry)] == ["waiting"]
    model.reply("said")
    assert "said" in gantry.talk().out
    assert queue(gantry) == [] and "nothing waits" in gantry.run("queue", "list").out


def test_drop_says_what_it_dropped_and_leaves_running_turns_alone(gantry, model):
    gate = Gate()
    model.reply("slow answer", gate=gate)
    p = gantry.daemon()
    p.send("running")
    model.wait(1)
    p.send("waiting for its turn")
    wait_files(gantry.data, lambda: len(gantry.sql("select 1 from inbox")) == 2, "two rows")
    running, waiting = queue(gantry)
    assert (running["state"], waiting["state"]) == ("running", "waiting")
    assert "/stop" in gantry.run("queue", "drop", running["id"], code=1).err
    assert "not over" in gantry.run("queue", "retry", waiting["id"], code=1).err
    out = gantry.run("queue", "drop", waiting["id"]).out
    assert "dropped " + waiting["id"] in out and "waiting for its turn" in out
    gate.release()
    p.out.wait("slow answer")
    p.close_stdin()
    p.wait(code=0)
    assert queue(gantry) == []


@pytest.mark.parametrize("what", ["retry", "drop"])
def test_a_part_that_may_not_have_arrived_is_sent_again_or_given_up(bot, gantry, model, what):
    model.reply("**maybe**")
    bot.fail("sendMessage", reset=True)
    p = bot.run()
    bot.say("go")
    bot.wait_calls("sendMessage")
    wait_files(gantry.data, lambda: gantry.sql("select 1 from pieces where state = 'unknown'"), "an unknown piece")
    row, = queue(gantry, *bot.args)
    assert row["state"] == "unknown" and row["id"].startswith("o") and row["unknown"] == 1
    out = gantry.run(*bot.args, "queue", what, row["id"]).out
    if what == "retry":
        assert "1 part is to be sent again" in out
        bot.say("/whoami")      # an answer rings the bell that the command cannot ring
        bot.wait_text("^maybe$")
    else:
        assert "dropped %s (unknown reply)" % row["id"] in out
    bot.say("/resend")
    bot.wait_text("(?i)nothing is missing")
    wait_files(gantry.data, lambda: not gantry.sql("select 1 from pieces where state = 'sending'"), "what was sent")
    assert queue(gantry, *bot.args) == [] and p.running()


def test_queue_refuses_what_is_no_id(gantry):
    assert "no id of the list" in gantry.run("queue", "retry", "7", code=2).err
    assert gantry.run("queue", "list", "o1", code=2).err
    assert "no database" in gantry.run("queue", "drop", "o1", code=1).err
